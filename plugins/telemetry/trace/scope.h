/// The settings of one scope, the server or one model with values of its own, and its sampling.
#pragma once

#include <atomic>
#include <cstdint>

#include "telemetry/trace/settings.h"

namespace atl::tracing {

enum class Sampled : uint32_t {
  kNo = 0,
  kByRate = 1,
  kByContext = 2  ///< the request came with a trace context; does not use up the count
};

/// SettingValues never change: an update makes a new scope. [any]
class Scope {
 public:
  explicit Scope(const SettingValues& values) noexcept : values_(values), remaining_(values.count) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// \param forced  the request has a trace context that is to be gone on with.
  Sampled sample(bool forced) noexcept {
    if (values_.level == kOff) return Sampled::kNo;
    if (forced) {
      open_.fetch_add(1, std::memory_order_relaxed);
      return Sampled::kByContext;
    }
    int64_t remaining = remaining_.load(std::memory_order_relaxed);
    if (values_.rate == 0 || remaining == 0) return Sampled::kNo;
    if ((seen_.fetch_add(1, std::memory_order_relaxed) + 1) % values_.rate != 0) return Sampled::kNo;
    while (remaining > 0) {
      if (remaining_.compare_exchange_weak(remaining, remaining - 1, std::memory_order_relaxed)) break;
    }
    if (remaining == 0) return Sampled::kNo;
    open_.fetch_add(1, std::memory_order_relaxed);
    return Sampled::kByRate;
  }

  const SettingValues& values() const noexcept { return values_; }
  /// The values, with the count as it is now.
  SettingValues current() const noexcept {
    SettingValues now = values_;
    now.count = remaining_.load(std::memory_order_relaxed);
    return now;
  }

  /// A sampled trace has been written or dropped.
  void close(Sampled how) noexcept {
    if (how == Sampled::kByRate) closed_by_rate_.fetch_add(1, std::memory_order_relaxed);
    open_.fetch_sub(1, std::memory_order_release);
  }
  /// No request will be sampled here any more.
  void retire() noexcept { retired_.store(true, std::memory_order_release); }
  /// The count has run out and every trace it allowed is closed.
  bool exhausted() const noexcept {
    return values_.count > 0 &&
           closed_by_rate_.load(std::memory_order_relaxed) >= static_cast<uint64_t>(values_.count);
  }
  /// No trace is open and none will be taken.
  bool ended() const noexcept {
    return retired_.load(std::memory_order_acquire) && open_.load(std::memory_order_acquire) == 0;
  }

 private:
  const SettingValues values_;
  std::atomic<uint64_t> seen_{0};
  std::atomic<int64_t> remaining_;
  std::atomic<uint64_t> open_{0};
  std::atomic<uint64_t> closed_by_rate_{0};
  std::atomic<bool> retired_{false};
};

}  // namespace atl::tracing
