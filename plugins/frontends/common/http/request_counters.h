/// Counts of one thread's requests, read by others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace atl::frontends::http {

/// One thread counts; [any] reads.
class RequestCounters {
 public:
  /// The application numbers its categories from 0 on.
  static constexpr uint32_t kCategories = 32;
  /// Of requests that were refused before they were judged. Others may be counted there too.
  static constexpr uint32_t kUnjudged = kCategories - 1;
  /// 1xx to 5xx.
  static constexpr uint32_t kClasses = 5;

  void add(uint32_t category, int http_status) noexcept {
    std::atomic<uint64_t>& count = counts_[category][class_of(http_status)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  uint64_t count(uint32_t category, uint32_t status_class) const noexcept {
    return counts_[category][status_class].load(std::memory_order_relaxed);
  }

 private:
  static uint32_t class_of(int http_status) noexcept {
    return http_status < 100 || http_status > 599 ? 4 : static_cast<uint32_t>(http_status / 100 - 1);
  }
  std::array<std::array<std::atomic<uint64_t>, kClasses>, kCategories> counts_{};
};

}  // namespace atl::frontends::http
