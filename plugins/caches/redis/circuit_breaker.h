/// Leaves a server alone that does not answer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace atl::caches {

/// Closed: it is used. Open: it is not, for a time. Half open: one attempt decides. On one thread, but for state().
class CircuitBreaker {
 public:
  enum class State : uint32_t { kClosed = 0, kHalfOpen = 1, kOpen = 2 };

  /// \param threshold  failures in a row that open it
  CircuitBreaker(uint32_t threshold, int64_t retry_after_ns) noexcept
      : threshold_(threshold), retry_after_ns_(retry_after_ns), wait_ns_(retry_after_ns) {}

  /// [any]
  State state() const noexcept { return state_.load(std::memory_order_relaxed); }
  /// Of an open one.
  int64_t retry_at_ns() const noexcept { return retry_at_ns_; }

  /// \param is_grave  this one is enough, whatever was answered before
  /// \returns true: it has opened with this failure
  bool report_failure(int64_t now_ns, bool is_grave = false) noexcept {
    if (state() == State::kOpen) return false;
    if (state() == State::kClosed && ++failures_ < threshold_ && !is_grave) return false;
    state_.store(State::kOpen, std::memory_order_relaxed);
    retry_at_ns_ = now_ns + wait_ns_;
    wait_ns_ = std::min(wait_ns_ * 2, retry_after_ns_ * kLongestWait);
    return true;
  }
  /// What was asked is answered: all is well.
  void report_success() noexcept {
    failures_ = 0;
    wait_ns_ = retry_after_ns_;
  }
  /// The time has come for an attempt.
  void begin_attempt() noexcept { state_.store(State::kHalfOpen, std::memory_order_relaxed); }
  /// The attempt worked. The next wait is not shorter until something was answered.
  void close() noexcept {
    failures_ = 0;
    state_.store(State::kClosed, std::memory_order_relaxed);
  }

 private:
  static constexpr int64_t kLongestWait = 32;

  const uint32_t threshold_;
  const int64_t retry_after_ns_;
  int64_t wait_ns_;
  int64_t retry_at_ns_ = 0;
  uint32_t failures_ = 0;
  std::atomic<State> state_{State::kClosed};
};

}  // namespace atl::caches
