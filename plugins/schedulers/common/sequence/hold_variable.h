/// Triton's switches for tests that need a known number of requests to wait before anything is executed.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "atoll/core/log.h"

namespace atl::schedulers {

inline constexpr char kHoldVariable[] = "TRITONSERVER_DELAY_SCHEDULER";
inline constexpr char kHoldBacklogVariable[] = "TRITONSERVER_BACKLOG_DELAY_SCHEDULER";

/// The number in a variable of the environment; 0 if it is not set, or is no number, which is logged.
inline uint64_t requests_to_hold(const char* variable, Log& log) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return 0;
  std::string_view text(value);
  uint64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size()) return count;
  log.warning(variable, " is '", text, "', which is not a number of requests: it is ignored");
  return 0;
}

}  // namespace atl::schedulers
