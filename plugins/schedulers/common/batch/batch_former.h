/// Decides which of the waiting requests make the next batch, and when it goes.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/common/batch/batch_compatibility.h"
#include "schedulers/common/batch/batch_strategy.h"
#include "schedulers/common/batch/policy_queue.h"

namespace atl::schedulers {

/// Requests from the front of a queue.
struct BatchCut {
  uint32_t count = 0;
  uint32_t size = 0;  ///< sum of their batch weights
};

struct BatchDecision {
  uint32_t count = 0;                         ///< requests, from the front, that go now; 0: none
  uint32_t size = 0;                          ///< sum of their batch weights
  int64_t recheck_ns = DeadlineHeap::kNever;  ///< if none goes: when the delay of the oldest ends
};

/// What may go together, as far as was looked.
struct BatchCandidates {
  BatchCut all;
  BatchCut best;  ///< up to the largest preferred size that was met, or the largest part below all of them
  int64_t oldest_ns = 0;  ///< since when the one waits that has waited longest
  bool complete = false;  ///< nobody can join any more
};

struct BatchRules {
  uint32_t size_max = 1;                  ///< sum of batch weights; a heavier request goes alone
  bool one_request = false;               ///< every request is a batch of its own, whatever its weight
  std::vector<uint32_t> preferred_sizes;  ///< ascending
  int64_t delay_ns = 0;                   ///< how long the oldest request of a batch may wait for others

  uint32_t preferred_max() const noexcept { return preferred_sizes.empty() ? 0 : preferred_sizes.back(); }
  bool is_preferred(uint32_t size) const noexcept;
  BatchDecision decide(const BatchCandidates& candidates, int64_t now_ns) const noexcept;
};

/// Looks at the queue from its front, in the order of service, and takes requests as long as they fit. What
/// it has collected it keeps from look to look, so each request is looked at once while nothing changes but
/// arrivals. Not thread safe: the scheduler's lock guards it.
class BatchFormer {
 public:
  BatchFormer(const PolicyQueue& queue, BatchRules rules, const BatchCompatibility& compatibility,
              BatchStrategy* strategy) noexcept
      : queue_(queue), rules_(std::move(rules)), compatibility_(compatibility), strategy_(strategy) {}
  BatchFormer(const BatchFormer&) = delete;
  BatchFormer& operator=(const BatchFormer&) = delete;
  ~BatchFormer() { forget(); }

  BatchDecision decide(int64_t now_ns) noexcept;
  /// The longest part of a decision that weighs no more than `room`, for an instance that takes no more now.
  BatchDecision part_of(const BatchDecision& whole, uint32_t room) const noexcept;

  /// What decide() found last, if nothing was forgotten since.
  const BatchCandidates& collected() const noexcept { return collected_; }
  const BatchRules& rules() const noexcept { return rules_; }

  /// What was collected is not the front of the queue any more: something was removed or overtaken, or the
  /// batch was taken.
  void forget() noexcept;
  /// A request was pushed.
  void arrived(const Request& request) noexcept {
    if (last_ != nullptr && queue_.would_overtake(request, *last_)) forget();
  }

  void set_delay(int64_t delay_ns) noexcept { rules_.delay_ns = delay_ns; }
  /// Makes the size the maximum and the only one that is preferred.
  void set_window(uint32_t size_max, int64_t delay_ns);

 private:
  void collect() noexcept;
  bool take(Request& request) noexcept;

  const PolicyQueue& queue_;
  BatchRules rules_;
  const BatchCompatibility& compatibility_;
  BatchStrategy* strategy_;

  Request* first_ = nullptr;  // what is collected: from here, the queue's front,
  Request* last_ = nullptr;   // to here, in the order of service
  BatchCandidates collected_;
  void* record_ = nullptr;
};

}  // namespace atl::schedulers
