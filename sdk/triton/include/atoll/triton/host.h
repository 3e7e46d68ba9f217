/// What a plugin that hosts foreign code does besides calling it.
#pragma once

#include "atoll/core/log.h"
#include "atoll/core/metrics.h"

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

/// Shows what foreign code counts by TRITONSERVER_Metric*, of the whole process. [any]
void collect_metrics(MetricSink& sink) noexcept;

/// collect_metrics() for one of several plugins that host foreign code: the one that exists for longest shows them, so that
/// they are shown once. [any]
class MetricScope {
 public:
  MetricScope() noexcept;
  MetricScope(const MetricScope&) = delete;
  MetricScope& operator=(const MetricScope&) = delete;
  ~MetricScope();

  void collect(MetricSink& sink) const noexcept;

 private:
  friend struct MetricScopes;
  MetricScope* newer_ = nullptr;
};

}  // namespace atl::triton
