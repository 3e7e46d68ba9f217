/// What goes wrong with a cache: counted, and told now and then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "atoll/core/metrics.h"

namespace atl::caches {

enum class CacheFailure : uint32_t {
  kLookUp = 0,       ///< it failed at looking
  kInsertion = 1,    ///< it failed at keeping
  kAnswer = 2,       ///< what it found is not an answer to this request
  kTimeout = 3,      ///< it took too long to look
  kUnavailable = 4,  ///< it was not asked, because it has not returned from earlier calls
};

/// [any]
class CacheFailures {
 public:
  static constexpr std::array<std::string_view, 5> kNames = {"lookup", "insertion", "answer", "timeout",
                                                             "unavailable"};
  /// One of each kind is logged in so long.
  static constexpr int64_t kQuietNs = 10 * kNsPerSecond;

  CacheFailures(Clock& clock, Log& log) noexcept : clock_(clock), log_(log) {}

  void count(CacheFailure failure) noexcept { of(failure).count.fetch_add(1, std::memory_order_relaxed); }
  /// count(), and a warning unless there was one of the kind a moment ago.
  template <class... Parts>
  void report(CacheFailure failure, const Parts&... parts) {
    count(failure);
    One& one = of(failure);
    const int64_t now_ns = clock_.now_ns();
    int64_t quiet_until_ns = one.quiet_until_ns.load(std::memory_order_relaxed);
    if (now_ns < quiet_until_ns ||
        !one.quiet_until_ns.compare_exchange_strong(quiet_until_ns, now_ns + kQuietNs)) {
      one.untold.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const uint64_t untold = one.untold.exchange(0, std::memory_order_relaxed);
    log_.warning(parts..., untold == 0 ? "" : cat(" (and ", untold, " like it that were not logged)"));
  }
  uint64_t counted(CacheFailure failure) const noexcept {
    return all_[static_cast<size_t>(failure)].count.load(std::memory_order_relaxed);
  }
  /// atoll_cache_failures_total
  void collect(MetricSink& sink) const noexcept {
    sink.family("atoll_cache_failures_total", "Requests that the response cache failed for",
                MetricKind::kCounter);
    for (size_t i = 0; i < kNames.size(); ++i) {
      const MetricLabel label{"reason", kNames[i]};
      sink.sample({&label, 1}, static_cast<double>(counted(static_cast<CacheFailure>(i))));
    }
  }

 private:
  struct One {
    std::atomic<uint64_t> count{0}, untold{0};
    std::atomic<int64_t> quiet_until_ns{INT64_MIN};
  };
  One& of(CacheFailure failure) noexcept { return all_[static_cast<size_t>(failure)]; }

  Clock& clock_;
  Log& log_;
  std::array<One, kNames.size()> all_;
};

}  // namespace atl::caches
