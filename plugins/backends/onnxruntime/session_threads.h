/// The threads of sessions.
#pragma once

#include <vector>

#include "atoll/core/executor.h"
#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/session_settings.h"

namespace atl::ort {

/// The threads that a session wants, made before the session is. Those that ONNX Runtime makes itself would
/// keep the low priority and the few CPUs of the worker that loads the model, and execute requests with them.
/// And it waits for ever for those it has, if it cannot have them all.
class SessionThreads {
 public:
  /// Errors: those of ExecutorFactory::create().
  static Result<SessionThreads> make(ExecutorFactory& executors,
                                     const OnnxSessionSettings& settings) noexcept;

  /// Sessions made with the options, while this object is there, take its threads.
  Status give_to(OrtSessionOptions& options) noexcept;

 private:
  static OrtCustomThreadHandle take(void* self, OrtThreadWorkerFn work, void* argument);

  std::vector<SerialExecutorPtr> threads_;  ///< that no session has
};

}  // namespace atl::ort
