/// What a model's own is_ready() says.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl::python {

/// One question at a time; an answer is good for a second, and none within five is no. [any]
class ModelProbe {
 public:
  static constexpr int64_t kFreshNs = 1'000'000'000;
  static constexpr int64_t kPatienceNs = 5 * kFreshNs;

  /// The model has such a function.
  void enable() noexcept { is_enabled_.store(true, std::memory_order_release); }
  /// \param asks  whether the model is to be asked now
  bool is_ready(int64_t now_ns, bool& asks) noexcept {
    asks = false;
    if (!is_enabled_.load(std::memory_order_acquire)) return true;
    int64_t asked_ns = asked_ns_.load(std::memory_order_acquire);
    if (asked_ns != 0) return now_ns - asked_ns < kPatienceNs && answer_.load(std::memory_order_acquire);
    const int64_t answered_ns = answered_ns_.load(std::memory_order_acquire);
    if (answered_ns == 0 || now_ns - answered_ns >= kFreshNs)
      asks = asked_ns_.compare_exchange_strong(asked_ns, now_ns);
    return answer_.load(std::memory_order_acquire);
  }
  void answer(bool is_ready, int64_t now_ns) noexcept {
    answer_.store(is_ready, std::memory_order_release);
    answered_ns_.store(now_ns, std::memory_order_release);
    asked_ns_.store(0, std::memory_order_release);
  }

 private:
  std::atomic<bool> is_enabled_{false}, answer_{true};
  std::atomic<int64_t> asked_ns_{0};     ///< 0: no question is open
  std::atomic<int64_t> answered_ns_{0};  ///< 0: never
};

}  // namespace atl::python
