/// Ends an executor that its own tasks still use.
#pragma once

#include "atoll/core/executor.h"

namespace atl {

/// For an owner whose tasks post further ones through the same pointer: SerialExecutorPtr::reset() empties the
/// pointer before it joins, and a task that runs meanwhile would find null. May be null. Not from its own
/// tasks; nobody else may use the pointer any more. [any]
inline void stop_executor(SerialExecutorPtr& executor) noexcept {
  if (executor == nullptr) return;
  executor->destroy();
  (void)executor.release();
}

}  // namespace atl
