/// Failures on the request path, logged now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "atoll/lib/log_interval.h"

namespace atl::schedulers {

/// Logs the first failure, then at most one every ten seconds with the number of those left out. [any]
class FailureLog {
 public:
  /// \param subject  begins every record.
  FailureLog(Log& log, Clock& clock, std::string subject) noexcept
      : log_(log), clock_(clock), subject_(std::move(subject)) {}

  void add(std::string_view what, const Status& failure) noexcept {
    const std::optional<uint64_t> left_out = interval_.next(clock_.now_ns());
    if (!left_out) return;
    const std::string more =
        *left_out == 0 ? "" : cat(" (and ", *left_out, " failures that were not logged)");
    log_.error(subject_, ": ", what, ": ", failure.text(), more);
  }

 private:
  Log& log_;
  Clock& clock_;
  const std::string subject_;
  LogInterval interval_{10 * kNsPerSecond};
};

}  // namespace atl::schedulers
