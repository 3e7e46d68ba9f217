#include "schedulers/dynamic/custom/strategy_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace atl::schedulers {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string strategy_library_path() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&strategy_library_path), &info) == 0) return {};
  std::error_code ignored;
  // A plugin that was replaced is opened under another spelling of its path.
  const fs::path own = fs::absolute(info.dli_fname, ignored).lexically_normal();
  // lib/atoll/plugins/schedulers/dynamic.so
  return (own.parent_path().parent_path().parent_path() / "libatoll_batch_strategies.so").string();
}

Result<std::unique_ptr<BatchStrategy>> StrategyLibrary::open(const SchedulerContext& context,
                                                             const std::string& strategy, Log& log) {
  Result<void*> function = entry(context, strategy);
  if (!function.ok()) return std::move(function).status();
  Result<std::unique_ptr<BatchStrategy>> result = std::unique_ptr<BatchStrategy>();
  reinterpret_cast<OpenStrategy*>(function.value())(&context, &strategy, &log, &result);
  return result;
}

Result<void*> StrategyLibrary::entry(const SchedulerContext& context, const std::string& strategy) {
  std::lock_guard lock(mutex_);
  if (void* function = object_.symbol(kOpenStrategy)) return function;
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) {
    return make_status(Code::kFailedPrecondition, "model '", context.model_name,
                       "' has the batching strategy ", strategy,
                       ", and the library that runs strategies is not there: ", path_,
                       "; to get it: etc/dev/build release schedulers/dynamic");
  }
  Result<runtime::SharedObject> object = runtime::SharedObject::open(path_);
  if (!object.ok()) {
    return make_status(object.status().code(), "unable to load the library that runs batching strategies: ",
                       object.status().message());
  }
  void* function = object->symbol(kOpenStrategy);
  if (function == nullptr)
    return make_status(Code::kFailedPrecondition, path_, " has no function ", kOpenStrategy);
  object_ = std::move(object).value();
  return function;
}

}  // namespace atl::schedulers
