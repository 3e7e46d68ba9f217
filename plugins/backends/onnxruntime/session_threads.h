/// The threads of sessions.
#pragma once

#include "atoll/executor.h"
#include "ort_api.h"

namespace atl::ort {

/// Has the executors make the threads of sessions that are opened with `options`. Threads that ONNX Runtime
/// makes itself would keep the low priority and the few CPUs of the worker that loads the model, and execute
/// requests with them. \param executors  outlives the sessions.
Status use_executors(OrtSessionOptions& options, ExecutorFactory& executors) noexcept;

}  // namespace atl::ort
