/// The library that runs batching strategies, opened when the first model with a strategy is loaded.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "atoll/core/log.h"
#include "atoll/request/scheduler.h"
#include "atoll/runtime/shared_object.h"
#include "schedulers/common/batch/batch_strategy.h"

namespace atl::schedulers {

/// A strategy is code made for Triton: it calls Triton's C API and so needs libtritonserver.so. Hardly any server
/// has a model with a strategy, so what speaks that API is a library of its own (libatoll_batch_strategies.so, the
/// sources beside this one), which the plugin neither links nor is built with.
class StrategyLibrary {
 public:
  /// \param path  where the library lies. It is not looked at before the first open().
  explicit StrategyLibrary(std::string path) : path_(std::move(path)) {}

  /// Opens the strategy in the file `strategy`. The strategy ends before this object does. Null if the file has none
  /// of a strategy's functions. [worker; several threads at once]
  /// \param log, context.clock  outlive the strategy.
  /// Errors: FAILED_PRECONDITION the library is missing (with the command that builds it) or cannot be loaded; those
  /// of CustomBatching::open().
  Result<std::unique_ptr<BatchStrategy>> open(const SchedulerContext& context, const std::string& strategy,
                                              Log& log);

 private:
  Result<void*> entry(const SchedulerContext& context, const std::string& strategy);

  const std::string path_;
  std::mutex mutex_;
  runtime::SharedObject object_;  // under the mutex; empty until the first strategy
};

/// Where the library lies beside the plugin that this code is part of: two folders above the plugin's own folder.
std::string strategy_library_path();

/// What the library exports. It fills in `result` and throws nothing.
using OpenStrategy = void(const SchedulerContext* context, const std::string* strategy, Log* log,
                          Result<std::unique_ptr<BatchStrategy>>* result);
inline constexpr char kOpenStrategy[] = "atoll_open_batch_strategy";

}  // namespace atl::schedulers
