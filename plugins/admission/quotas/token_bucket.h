/// A rate with a burst.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "atoll/core/clock.h"

namespace atl::quotas {

/// Begins full. Over any time t at most rate * t + burst are taken by take(). What is known only afterwards is
/// taken by charge(), which may leave a debt. Not thread safe.
class TokenBucket {
 public:
  /// \param rate_per_second  0: tokens without end
  TokenBucket(double rate_per_second, double burst) noexcept
      : rate_(rate_per_second / static_cast<double>(kNsPerSecond)), burst_(burst), tokens_(burst) {}

  /// Takes a token. \returns 0, or if there is none the time until there is one, ns.
  int64_t take(int64_t now_ns) noexcept {
    if (rate_ == 0) return 0;
    refill(now_ns);
    // What is missing by rounding alone is not missing.
    if (tokens_ < 1 - kRounding) return static_cast<int64_t>(std::ceil((1 - tokens_) / rate_));
    tokens_ -= 1;
    return 0;
  }
  /// Takes so many, whether they are there or not.
  void charge(double tokens, int64_t now_ns) noexcept {
    if (rate_ == 0) return;
    refill(now_ns);
    tokens_ -= tokens;
  }
  /// \returns the time until what was charged is there, ns; 0: there is no debt
  int64_t debt_ns(int64_t now_ns) noexcept {
    if (rate_ == 0) return 0;
    refill(now_ns);
    if (tokens_ >= -kRounding) return 0;
    return static_cast<int64_t>(std::min(std::ceil(-tokens_ / rate_), kLongestNs));
  }
  /// Another rate and burst, with the share of the tokens that there was: what was used up stays so.
  void follow(double rate_per_second, double burst) noexcept {
    const double share = rate_ == 0 || burst_ == 0 ? 1 : tokens_ / burst_;
    rate_ = rate_per_second / static_cast<double>(kNsPerSecond);
    burst_ = burst;
    tokens_ = burst * share;
  }
  /// A token that was taken in vain.
  void give_back() noexcept { tokens_ = std::min(tokens_ + 1, burst_); }
  /// Forgetting it and beginning anew would change nothing.
  bool full(int64_t now_ns) noexcept {
    refill(now_ns);
    return tokens_ >= burst_;
  }

 private:
  static constexpr double kRounding = 1e-9;
  static constexpr double kLongestNs = 9e18;  ///< fits into what times have
  void refill(int64_t now_ns) noexcept {
    if (now_ns <= last_ns_) return;
    if (last_ns_ != 0) {
      tokens_ = std::min(burst_, tokens_ + static_cast<double>(now_ns - last_ns_) * rate_);
    }
    last_ns_ = now_ns;
  }

  double rate_;  ///< tokens a nanosecond
  double burst_;
  double tokens_;
  int64_t last_ns_ = 0;
};

}  // namespace atl::quotas
