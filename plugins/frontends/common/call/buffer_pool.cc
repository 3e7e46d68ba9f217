#include "frontends/common/call/buffer_pool.h"

#include <algorithm>
#include <utility>

namespace atl::frontends {

BodyBuffer BufferPool::take() noexcept {
  if (kept_.empty()) return {};
  BodyBuffer buffer = std::move(kept_.back());
  kept_.pop_back();
  kept_bytes_ -= buffer.capacity();
  unused_ = std::min(unused_, kept_.size());
  return buffer;
}

void BufferPool::free_unused() noexcept {
  for (size_t i = 0; i < unused_; ++i) kept_bytes_ -= kept_[i].capacity();
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(unused_));
  unused_ = kept_.size();
}

void BufferPool::give(BodyBuffer buffer) noexcept {
  const size_t bytes = buffer.capacity();
  if (holds_ != 0) {
    if (bytes != 0) held_.push_back(std::move(buffer));
    return;
  }
  if (bytes == 0 || bytes > kLargestKept || kept_.size() >= kMostKept ||
      kept_bytes_ + bytes > kMostKeptBytes) {
    return;
  }
  buffer.clear();
  kept_bytes_ += bytes;
  kept_.push_back(std::move(buffer));
}

void BufferPool::keep_held() noexcept {
  while (!held_.empty()) {
    give(std::move(held_.back()));
    held_.pop_back();
  }
}

}  // namespace atl::frontends
