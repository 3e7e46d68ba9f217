/// How many connections there are.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace atl::frontends::http {

/// Of all workers together. [any]
class ConnectionCount {
 public:
  /// \param on_none  the last one has gone and no further ones come; may be called more than once
  explicit ConnectionCount(std::function<void()> on_none) : on_none_(std::move(on_none)) {}

  /// \returns how many there are with it.
  int64_t add() noexcept { return open_.fetch_add(1) + 1; }
  void remove() noexcept {
    if (open_.fetch_sub(1) == 1 && complete_.load()) on_none_();
  }
  /// add() will not be called again.
  void no_more_come() noexcept {
    complete_.store(true);
    if (open_.load() == 0) on_none_();
  }
  /// One that was added is turned away.
  void refuse() noexcept {
    refused_.fetch_add(1, std::memory_order_relaxed);
    remove();
  }
  uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  int64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  std::function<void()> on_none_;
  std::atomic<int64_t> open_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<bool> complete_{false};
};

}  // namespace atl::frontends::http
