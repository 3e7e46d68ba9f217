/// The slowest traces of the last minutes, in memory.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"
#include "atoll/request/trace_log.h"
#include "telemetry/trace/record.h"

namespace atl::tracing {

struct SlowestLimits {
  size_t traces = TraceLog::kMost;
  uint64_t bytes = 2 << 20;         ///< of all traces
  uint64_t trace_bytes = 64 << 10;  ///< of one; at most `bytes`
  int64_t age_ns = 15 * 60 * kNsPerSecond;
};

/// Takes no memory until the first trace is added. Where there is no room, the fastest trace makes some: a new one is kept if
/// it is slower than that. An instance of the plugin and its successor share one, so the time is given with each call: the
/// clock belongs to the instance. Never used by requests. [any]
class SlowestTraces {
 public:
  explicit SlowestTraces(const SlowestLimits& limits = {}) noexcept : limits_(limits) {}
  SlowestTraces(const SlowestTraces&) = delete;
  SlowestTraces& operator=(const SlowestTraces&) = delete;

  /// Keeps the trace, if it is slow enough. Throws std::bad_alloc.
  void add(const Record& record, int64_t now_ns);
  /// Forgets traces that ended too long ago. \returns when the next one is to be forgotten; INT64_MAX: there is none
  int64_t forget_old(int64_t now_ns) noexcept;

  /// As the functions of TraceLog.
  std::vector<TraceSummary> slowest(int64_t now_ns) const;
  Result<FinishedTrace> find(uint64_t id, int64_t now_ns) const;

  /// Memory of what is kept, about.
  uint64_t size_bytes() const noexcept;

 private:
  struct Kept {
    FinishedTrace trace;
    int64_t ended_ns = 0;
    uint64_t size_bytes = 0;
  };
  bool is_old(const Kept& kept, int64_t now_ns) const noexcept {
    return kept.ended_ns < now_ns - limits_.age_ns;
  }
  void drop_old(int64_t now_ns) noexcept;
  /// Whether one more fits where all that are faster go.
  bool has_room(int64_t duration_ns, uint64_t size_bytes) const noexcept;
  /// Drops the fastest traces until one more fits.
  void make_room(uint64_t size_bytes) noexcept;
  bool is_full_with(uint64_t size_bytes) const noexcept {
    return kept_.size() >= limits_.traces || size_bytes_ + size_bytes > limits_.bytes;
  }

  const SlowestLimits limits_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
  uint64_t size_bytes_ = 0;
  uint64_t next_id_ = 1;
};

}  // namespace atl::tracing
