#include "schedulers/common/batch_former.h"

#include <algorithm>

namespace atl::schedulers {

bool BatchFormer::is_preferred(uint32_t size) const noexcept {
  return std::binary_search(rules_.preferred_sizes.begin(), rules_.preferred_sizes.end(), size);
}

void BatchFormer::forget() noexcept {
  if (first_ != nullptr && strategy_ != nullptr) strategy_->end(record_);
  first_ = last_ = nullptr;
  all_ = best_ = {};
  complete_ = false;
  record_ = nullptr;
}

void BatchFormer::set_window(uint32_t size_max, int64_t delay_ns) {
  rules_.delay_ns = delay_ns;
  bool only_size = rules_.preferred_sizes.size() == 1 && rules_.preferred_sizes[0] == size_max;
  if (size_max == rules_.size_max && only_size) return;
  forget();
  rules_.size_max = size_max;
  rules_.preferred_sizes.assign(1, size_max);
}

/// \returns false if the batch is complete without the request.
bool BatchFormer::take(Request& request) noexcept {
  uint32_t size = request.batch_weight();
  if (first_ == nullptr) {
    first_ = &request;
    oldest_ns_ = request.times.queue_start_ns;
    // The strategy counts the first request, but has no say: a batch needs one.
    if (strategy_ != nullptr) {
      record_ = strategy_->begin();
      (void)strategy_->include(request, record_);
    }
  } else {
    if (rules_.one_request) return false;
    if (uint64_t{all_.size} + size > rules_.preferred_max() && best_.count == 0) best_ = all_;
    if (uint64_t{all_.size} + size > rules_.size_max) return false;
    if (!compatibility_.fit(*first_, request)) return false;
    if (strategy_ != nullptr && !strategy_->include(request, record_)) return false;
    oldest_ns_ = std::min(oldest_ns_, request.times.queue_start_ns);
  }
  last_ = &request;
  ++all_.count;
  all_.size += size;
  if (is_preferred(all_.size)) best_ = all_;
  return true;
}

void BatchFormer::collect() noexcept {
  while (!complete_) {
    Request* next = last_ == nullptr ? queue_.front() : queue_.after(*last_);
    if (next == nullptr) return;
    complete_ = !take(*next);
  }
}

BatchFormer::Decision BatchFormer::decide(int64_t now_ns) noexcept {
  collect();
  if (all_.count == 0) return {};
  bool late = rules_.delay_ns != 0 && now_ns - oldest_ns_ >= rules_.delay_ns;
  if (best_.count != 0 && !late) return {best_.count, best_.size};
  if (complete_ || all_.size >= rules_.preferred_max() || late || rules_.delay_ns == 0) {
    return {all_.count, all_.size};
  }
  int64_t left_ns = rules_.delay_ns - (now_ns - oldest_ns_);
  return {0, 0, now_ns > DeadlineHeap::kNever - left_ns ? DeadlineHeap::kNever : now_ns + left_ns};
}

BatchFormer::Decision BatchFormer::part_of(const Decision& whole, uint32_t room) const noexcept {
  if (whole.size <= room) return whole;
  Decision part;
  for (const Request* next = queue_.front(); part.count < whole.count; next = queue_.after(*next)) {
    if (uint64_t{part.size} + next->batch_weight() > room) break;
    ++part.count;
    part.size += next->batch_weight();
  }
  return part;
}

}  // namespace atl::schedulers
