/// What the history consists of. Its parts are retained events, so that they are kept by the event bus while one instance
/// of the console takes the place of another.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::frontends::console {

/// What one model did in the time of a point.
struct HistoryRow {
  uint32_t series = 0;  ///< index of its HistorySeries
  uint32_t success = 0;
  uint32_t fail = 0;
  uint32_t mean_us = 0;  ///< of the successful requests, from their arrival to their end; 0: there was none
};

/// What the server did in some seconds. Counts are of that time alone.
struct HistoryPoint {
  static constexpr std::string_view kEventId = "atoll.console_history_point/1";
  static constexpr uint32_t kMostRows = 200;

  FixedText<160> key_text;  ///< "<instance> <slot>", with fewer slots than there are ever points
  uint64_t number = 0;      ///< of the points of an instance, ascending by one
  int64_t time_ms = 0;      ///< its end, in milliseconds since 1970
  int64_t covers_ms = 0;    ///< its length
  uint64_t success = 0, fail = 0;
  uint64_t p50_ns = 0, p99_ns = 0;    ///< of the latency of successful requests; 0: there was none
  uint64_t waiting = 0, running = 0;  ///< requests at its end
  double processors = 0;              ///< that were busy, on average
  uint64_t resident_bytes = 0;        ///< at its end
  uint32_t row_count = 0;
  HistoryRow rows[kMostRows];  ///< the busiest models
  std::string_view key() const noexcept { return key_text.view(); }
};
static_assert(sizeof(HistoryPoint) <= 4096, "the event bus takes no larger events");

/// The model that an index stands for, from one point on.
struct HistorySeries {
  static constexpr std::string_view kEventId = "atoll.console_history_series/1";

  FixedText<160> key_text;  ///< "<instance> <index>"
  uint32_t index = 0;       ///< below HistoryPoint::kMostRows
  uint64_t since = 0;       ///< rows of points before this number are another model's
  int64_t version = 0;
  FixedText<320> model;
  std::string_view key() const noexcept { return key_text.view(); }
};

}  // namespace atl::frontends::console
