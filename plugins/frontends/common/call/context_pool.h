/// Contexts that wait to be used again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace atl::frontends {

/// A bounded stack: the context used last, whose memory is warm, is taken first. [any]
template <class Context>
class ContextPool {
 public:
  explicit ContextPool(size_t capacity) : capacity_(capacity) { idle_.reserve(capacity); }

  /// Null if none waits.
  std::unique_ptr<Context> take() noexcept {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Context> context = std::move(idle_.back());
    idle_.pop_back();
    return context;
  }
  /// Keeps the context, or frees it if enough wait already.
  void give(std::unique_ptr<Context> context) noexcept {
    std::lock_guard lock(mutex_);
    if (idle_.size() < capacity_) idle_.push_back(std::move(context));
  }
  size_t size() const noexcept {
    std::lock_guard lock(mutex_);
    return idle_.size();
  }

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace atl::frontends
