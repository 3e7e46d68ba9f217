#include "schedulers/common/batch/batch_former.h"

#include <algorithm>

namespace atl::schedulers {

bool BatchRules::is_preferred(uint32_t size) const noexcept {
  return std::binary_search(preferred_sizes.begin(), preferred_sizes.end(), size);
}

BatchDecision BatchRules::decide(const BatchCandidates& candidates, int64_t now_ns) const noexcept {
  const auto& [all, best, oldest_ns, complete] = candidates;
  if (all.count == 0) return {};
  bool late = delay_ns != 0 && now_ns - oldest_ns >= delay_ns;
  if (best.count != 0 && !late) return {best.count, best.size};
  if (complete || all.size >= preferred_max() || late || delay_ns == 0) return {all.count, all.size};
  int64_t left_ns = delay_ns - (now_ns - oldest_ns);
  return {0, 0, now_ns > DeadlineHeap::kNever - left_ns ? DeadlineHeap::kNever : now_ns + left_ns};
}

void BatchFormer::forget() noexcept {
  if (first_ != nullptr && strategy_ != nullptr) strategy_->end(record_);
  first_ = last_ = nullptr;
  collected_ = {};
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
  auto& [all, best, oldest_ns, complete] = collected_;
  uint32_t size = request.batch_weight();
  if (first_ == nullptr) {
    first_ = &request;
    oldest_ns = request.times.queue_start_ns;
    // The strategy counts the first request, but has no say: a batch needs one.
    if (strategy_ != nullptr) {
      record_ = strategy_->begin();
      (void)strategy_->include(request, record_);
    }
  } else {
    if (rules_.one_request) return false;
    if (uint64_t{all.size} + size > rules_.preferred_max() && best.count == 0) best = all;
    if (uint64_t{all.size} + size > rules_.size_max) return false;
    if (!compatibility_.fit(*first_, request)) return false;
    if (strategy_ != nullptr && !strategy_->include(request, record_)) return false;
    oldest_ns = std::min(oldest_ns, request.times.queue_start_ns);
  }
  last_ = &request;
  ++all.count;
  all.size += size;
  if (rules_.is_preferred(all.size)) best = all;
  return true;
}

void BatchFormer::collect() noexcept {
  while (!collected_.complete) {
    Request* next = last_ == nullptr ? queue_.front() : queue_.after(*last_);
    if (next == nullptr) return;
    collected_.complete = !take(*next);
  }
}

BatchDecision BatchFormer::decide(int64_t now_ns) noexcept {
  collect();
  return rules_.decide(collected_, now_ns);
}

BatchDecision BatchFormer::part_of(const BatchDecision& whole, uint32_t room) const noexcept {
  if (whole.size <= room) return whole;
  BatchDecision part;
  for (const Request* next = queue_.front(); part.count < whole.count; next = queue_.after(*next)) {
    if (uint64_t{part.size} + next->batch_weight() > room) break;
    ++part.count;
    part.size += next->batch_weight();
  }
  return part;
}

}  // namespace atl::schedulers
