/// The one function that libatoll_batch_strategies.so exports.
#include "schedulers/dynamic/custom/custom_batching.h"
#include "schedulers/dynamic/custom/strategy_library.h"

extern "C" __attribute__((visibility("default"))) void atoll_open_batch_strategy(
    const atl::SchedulerContext* context, const std::string* strategy, atl::Log* log,
    atl::Result<std::unique_ptr<atl::schedulers::BatchStrategy>>* result) {
  auto opened = atl::schedulers::CustomBatching::open(*context, *strategy, *log);
  if (opened.ok()) {
    *result = std::unique_ptr<atl::schedulers::BatchStrategy>(std::move(opened).value());
  } else {
    *result = std::move(opened).status();
  }
}
