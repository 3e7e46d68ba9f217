/// Runs independent steps on several worker threads.
#pragma once

#include <cstddef>
#include <functional>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"

namespace atl::models {

/// Runs step(0) to step(count - 1) on the calling thread and, as far as they are free, on worker threads, and
/// returns when all have ended. The caller never waits for a step that has not begun, so it works in a pool
/// whose threads all do this. Steps must not throw. \param gate  for which the worker threads hold passes
void parallel_for(WorkerPool& workers, Gate& gate, size_t count, const std::function<void(size_t)>& step);

}  // namespace atl::models
