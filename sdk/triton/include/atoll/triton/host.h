/// What a plugin that hosts foreign code does besides calling it.
#pragma once

#include "atoll/log.h"
#include "atoll/metrics.h"

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

/// Shows what foreign code counts by TRITONSERVER_Metric*, of the whole process. Do so in one place of a process that
/// has several servers show the same. [any]
void collect_metrics(MetricSink& sink) noexcept;

}  // namespace atl::triton
