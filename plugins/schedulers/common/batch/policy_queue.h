/// The queue of one model version: priority levels, limits and timeouts, as every scheduler uses it.
#pragma once

#include <cstdint>
#include <map>

#include "atoll/request/request.h"
#include "schedulers/common/batch/deadline_heap.h"
#include "schedulers/common/batch/queue_policy.h"
#include "schedulers/common/batch/request_queue.h"

namespace atl {
struct QueueDescription;
}

namespace atl::schedulers {

/// Order of service: level 1 in the order of arrival, then those of level 1 that were delayed, then level 2
/// and so on. Uses the link `level` and those of RequestQueue and DeadlineHeap. Not thread safe: the
/// scheduler's lock guards it.
class PolicyQueue {
 public:
  explicit PolicyQueue(QueuePolicies policies) : policies_(std::move(policies)) {}
  PolicyQueue(const PolicyQueue&) = delete;
  PolicyQueue& operator=(const PolicyQueue&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  uint64_t size() const noexcept { return size_; }
  /// Batch weights of all that wait.
  uint64_t total_weight() const noexcept { return total_weight_; }
  /// Whether any that waits has a caller that waits for it and holds resources.
  bool called_by_executions() const noexcept { return called_ != 0; }
  bool contains(const Request& request) const noexcept {
    const Level* level = level_of(request);
    return level != nullptr && level->owner == this;
  }

  /// \returns false, and leaves the request alone, if its level or the whole queue is full.
  bool push(Request& request, int64_t now_ns);
  void remove(Request& request) noexcept;

  /// The one to be served next, or null.
  Request* front() const noexcept;
  /// Who is served after a request that waits here, or null.
  Request* after(const Request& request) const noexcept;
  /// The one of a level to be served next, or null. \param number  0: of all levels
  Request* front_of(uint64_t number) const noexcept;
  /// Writes what waits into an empty description.
  void describe(QueueDescription& to) const noexcept;
  /// Whether a new request of the level of `newcomer` would be served before `waiting`, which waits here.
  bool would_overtake(const Request& newcomer, const Request& waiting) const noexcept;

  /// When the next timeout runs out; DeadlineHeap::kNever if none does.
  int64_t next_timeout_ns() const noexcept { return deadlines_.first_ns(); }
  /// Applies the timeouts that have run out: who is rejected leaves for `rejected`, who is delayed moves
  /// back. \returns true if anything changed.
  bool expire(int64_t now_ns, RequestQueue& rejected) noexcept;

 private:
  struct Level {
    const PolicyQueue* owner;
    uint64_t number;
    QueuePolicy policy;
    RequestQueue waiting, delayed;

    uint64_t size() const noexcept { return waiting.size() + delayed.size(); }
  };
  /// Levels that nobody waits in are kept up to this number; clients choose their levels.
  static constexpr size_t kEmptyLevelsMax = 64;

  static Level* level_of(const Request& request) noexcept { return static_cast<Level*>(request.links.level); }
  Level& level_for(const Request& request);
  Request* first_from(std::map<uint64_t, Level>::const_iterator level) const noexcept;

  const QueuePolicies policies_;
  std::map<uint64_t, Level> levels_;
  DeadlineHeap deadlines_;
  uint64_t size_ = 0, total_weight_ = 0, called_ = 0;
};

}  // namespace atl::schedulers
