/// What a plugin that hosts foreign code does besides calling it.
#pragma once

#include "atoll/log.h"

namespace atl::triton {

/// While one exists, TRITONSERVER_LogMessage writes to its log; of several, to that of the youngest. [any]
class LogScope {
 public:
  explicit LogScope(Log& log) noexcept;
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  ~LogScope();

 private:
  friend struct LogScopes;
  Log& log_;
  LogScope* older_ = nullptr;
};

/// Lets shared objects that were linked without libtritonserver.so find its functions too. Call it before one
/// is opened; again makes no difference. [any]
void make_global() noexcept;

}  // namespace atl::triton
