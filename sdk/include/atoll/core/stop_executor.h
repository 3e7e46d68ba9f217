/// Ends an executor that its own tasks still use.
///
///     void stop() override { stop_executor(executor_); }
///     void look() { ...; executor_->post_at(next_ns, make_task([this] { look(); })); }  // a task
#pragma once

#include "atoll/core/executor.h"

namespace atl {

/// Waits for the running task, drops the others, joins the thread, and makes the pointer null. Use
/// it where tasks post further ones through the same pointer: SerialExecutorPtr::reset() empties
/// the pointer before it joins, so a task that runs meanwhile would find null. May be called with a
/// null pointer. Must not be called from one of the executor's own tasks, and no other thread may
/// use the pointer any more. [any]
inline void stop_executor(SerialExecutorPtr& executor) noexcept {
  if (executor == nullptr) return;
  executor->destroy();
  (void)executor.release();
}

}  // namespace atl
