/// Failures on the request path, logged now and then.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "atoll/clock.h"
#include "atoll/log.h"
#include "atoll/status.h"

namespace atl::schedulers {

/// Logs the first failure, then at most one every ten seconds with the number of those left out. [any]
class FailureLog {
 public:
  /// \param subject  begins every record.
  FailureLog(Log& log, Clock& clock, std::string subject) noexcept
      : log_(log), clock_(clock), subject_(std::move(subject)) {}

  void add(std::string_view what, const Status& failure) noexcept {
    const int64_t now = clock_.now_ns();
    int64_t next = next_ns_.load(std::memory_order_relaxed);
    if (now < next || !next_ns_.compare_exchange_strong(next, now + kPauseNs, std::memory_order_relaxed)) {
      left_out_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const uint64_t left_out = left_out_.exchange(0, std::memory_order_relaxed);
    const std::string more = left_out == 0 ? "" : cat(" (and ", left_out, " failures that were not logged)");
    log_.error(subject_, ": ", what, ": ", failure.text(), more);
  }

 private:
  static constexpr int64_t kPauseNs = 10 * kNsPerSecond;

  Log& log_;
  Clock& clock_;
  const std::string subject_;
  std::atomic<int64_t> next_ns_{INT64_MIN};
  std::atomic<uint64_t> left_out_{0};
};

}  // namespace atl::schedulers
