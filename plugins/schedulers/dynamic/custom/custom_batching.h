/// A model's batching strategy: a shared object made for Triton that says which requests may share a batch.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/log.h"
#include "atoll/request/request.h"
#include "atoll/request/scheduler.h"
#include "atoll/runtime/shared_object.h"
#include "atoll/triton/host.h"
#include "atoll/triton/model.h"
#include "schedulers/common/batch/batch_strategy.h"
#include "schedulers/dynamic/custom/failure_log.h"

namespace atl::schedulers {

/// The opened strategy of one model version. begin(), include() and end() may be called by any thread, by one
/// at a time for one record. What the strategy throws or fails with is logged, and the batch goes on without
/// it; what it does to memory is its author's responsibility, as with every native code.
class CustomBatching final : public BatchStrategy {
 public:
  /// Opens the strategy in the file `path`; null if the file has none of a strategy's functions. [worker]
  /// \param log, context.clock  outlive the object.
  /// Errors: FAILED_PRECONDITION the file cannot be loaded; INVALID_ARGUMENT it has some of the five functions
  /// only; whatever its initialisation says.
  static Result<std::unique_ptr<CustomBatching>> open(const SchedulerContext& context,
                                                      const std::string& path, Log& log) noexcept;
  /// Ends the strategy and closes its file. Every record has been ended.
  ~CustomBatching() override;
  CustomBatching(const CustomBatching&) = delete;
  CustomBatching& operator=(const CustomBatching&) = delete;

  /// A batch begins: the strategy's record of it, to be ended. Null if it has failed.
  void* begin() noexcept override;
  /// May the request join the batch of this record? False as well if the strategy fails, or if the record is
  /// null: the batch is then complete. The first request of a batch is in it whatever this says.
  bool include(Request& request, void* record) noexcept override;
  /// The batch is complete. Null is allowed.
  void end(void* record) noexcept override;

 private:
  struct Functions {
    TRITONSERVER_Error* (*batcher_initialize)(TRITONBACKEND_Batcher**, TRITONBACKEND_Model*);
    TRITONSERVER_Error* (*batcher_finalize)(TRITONBACKEND_Batcher*);
    TRITONSERVER_Error* (*batch_initialize)(const TRITONBACKEND_Batcher*, void**);
    TRITONSERVER_Error* (*include_request)(TRITONBACKEND_Request*, void*, bool*);
    TRITONSERVER_Error* (*batch_finalize)(void*);
  };

  CustomBatching(const SchedulerContext& context, std::string_view path, Log& log);
  static Result<std::unique_ptr<CustomBatching>> open_file(const SchedulerContext& context,
                                                           const std::string& path, Log& log);
  Status find_functions(const std::string& path, bool* has_none);
  Status initialize(const std::string& path, std::string_view config);

  Log& log_;
  FailureLog failures_;
  TRITONBACKEND_Model model_;
  triton::LogScope log_scope_;  // it may log while it is opened and closed
  runtime::SharedObject object_;
  Functions functions_{};
  TRITONBACKEND_Batcher* batcher_ = nullptr;
  bool initialized_ = false;
};

}  // namespace atl::schedulers
