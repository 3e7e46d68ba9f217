#include "schedulers/common/batch/policy_queue.h"

#include <algorithm>
#include <utility>

#include "atoll/request/scheduler.h"

namespace atl::schedulers {
namespace {

/// Saturates: a timeout of centuries is none.
int64_t deadline_after(int64_t now_ns, uint64_t timeout_us) noexcept {
  constexpr uint64_t kMost = DeadlineHeap::kNever / kNsPerUs;
  if (timeout_us >= kMost) return DeadlineHeap::kNever;
  auto timeout_ns = static_cast<int64_t>(timeout_us) * kNsPerUs;
  return now_ns > DeadlineHeap::kNever - timeout_ns ? DeadlineHeap::kNever : now_ns + timeout_ns;
}

}  // namespace

PolicyQueue::Level& PolicyQueue::level_for(const Request& request) {
  uint64_t number = policies_.level_of(request);
  auto found = levels_.lower_bound(number);
  if (found == levels_.end() || found->first != number) {
    found = levels_.try_emplace(found, number);
    found->second.owner = this;
    found->second.number = number;
    found->second.policy = policies_.policy_of(number);
  }
  return found->second;
}

bool PolicyQueue::push(Request& request, int64_t now_ns) {
  if (policies_.size_max != 0 && size_ >= policies_.size_max) return false;
  Level& level = level_for(request);
  if (level.policy.max_queue_size != 0 && level.size() >= level.policy.max_queue_size) return false;
  request.links.deadline_place = 0;
  uint64_t timeout_us = level.policy.timeout_us(request);
  if (timeout_us != 0) deadlines_.add(request, deadline_after(now_ns, timeout_us));
  request.links.level = &level;
  level.waiting.push_back(request);
  ++size_;
  total_weight_ += request.batch_weight();
  called_ += (request.call_flags & kCallerHoldsResources) != 0;
  return true;
}

void PolicyQueue::remove(Request& request) noexcept {
  Level& level = *level_of(request);
  (level.waiting.contains(request) ? level.waiting : level.delayed).remove(request);
  deadlines_.remove(request);
  request.links.level = nullptr;
  --size_;
  total_weight_ -= request.batch_weight();
  called_ -= (request.call_flags & kCallerHoldsResources) != 0;
  if (levels_.size() > kEmptyLevelsMax && level.size() == 0) levels_.erase(level.number);
}

Request* PolicyQueue::first_from(std::map<uint64_t, Level>::const_iterator level) const noexcept {
  for (; level != levels_.end(); ++level) {
    if (Request* first = level->second.waiting.front(); first != nullptr) return first;
    if (Request* first = level->second.delayed.front(); first != nullptr) return first;
  }
  return nullptr;
}

Request* PolicyQueue::front() const noexcept { return first_from(levels_.begin()); }

Request* PolicyQueue::after(const Request& request) const noexcept {
  if (request.next != nullptr) return request.next;
  const Level& level = *level_of(request);
  if (level.waiting.contains(request) && !level.delayed.empty()) return level.delayed.front();
  return first_from(levels_.upper_bound(level.number));
}

Request* PolicyQueue::front_of(uint64_t number) const noexcept {
  if (number == 0) return front();
  const auto level = levels_.find(number);
  if (level == levels_.end()) return nullptr;
  Request* const first = level->second.waiting.front();
  return first != nullptr ? first : level->second.delayed.front();
}

void PolicyQueue::describe(QueueDescription& to) const noexcept {
  to.requests = size_;
  for (const auto& [number, level] : levels_) {
    if (level.size() == 0) continue;
    if (to.level_count == QueueDescription::kLevelsMax) break;
    WaitingLevel& one = to.levels[to.level_count++];
    one = {number, level.size(), DeadlineHeap::kNever};
    for (const Request* first : {level.waiting.front(), level.delayed.front()}) {
      if (first != nullptr) one.oldest_ns = std::min(one.oldest_ns, first->times.queue_start_ns);
    }
    to.oldest_ns = to.level_count == 1 ? one.oldest_ns : std::min(to.oldest_ns, one.oldest_ns);
  }
  for (const Request* next = front(); next != nullptr && to.sampled_requests < QueueDescription::kSampleMax;
       next = after(*next)) {
    for (const InputTensor& input : next->inputs) to.sampled_bytes += input.size_bytes;
    ++to.sampled_requests;
  }
}

bool PolicyQueue::would_overtake(const Request& newcomer, const Request& waiting) const noexcept {
  const Level& level = *level_of(waiting);
  uint64_t own = policies_.level_of(newcomer);
  return own < level.number || (own == level.number && level.delayed.contains(waiting));
}

bool PolicyQueue::expire(int64_t now_ns, RequestQueue& rejected) noexcept {
  bool changed = false;
  for (; deadlines_.first_ns() < now_ns; changed = true) {
    Request& request = deadlines_.first();
    Level& level = *level_of(request);
    if (level.policy.timeout_action == TimeoutAction::kReject) {
      remove(request);
      rejected.push_back(request);
      continue;
    }
    deadlines_.remove(request);
    level.waiting.remove(request);
    level.delayed.push_back(request);
  }
  return changed;
}

}  // namespace atl::schedulers
