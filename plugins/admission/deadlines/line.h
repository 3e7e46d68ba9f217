/// The requests that wait for one model version on one device, and what its executions cost.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "admission/deadlines/execution_profile.h"
#include "atoll/request/execution_admission.h"

namespace atl::deadlines {

inline constexpr int64_t kNever = INT64_MAX;
/// Sums of shares of nanoseconds are rounded, so who is late by less is not late.
inline constexpr int64_t kRoundingNs = 1'000;

/// One request in a line.
struct QueuedRequest {
  int64_t deadline_ns = kNever;
  /// It is to be answered until then. Otherwise it has no deadline, and this is when it comes before others.
  bool is_bound = false;
  uint32_t weight = 1;
};

struct Runner;

/// What orders the lines of a device.
struct FrontKey {
  int64_t deadline_ns = kNever;  ///< of the first request
  uint64_t order = UINT64_MAX;   ///< when something came to wait in the line: first come, first served

  auto operator<=>(const FrontKey&) const = default;
};

/// Requests at one place of a line that are taken to be executed together.
struct PlannedBatch {
  FrontKey key;
  size_t requests = 0;
  uint32_t weight = 0;
  bool is_bound = false;         ///< all of them are, or none
  int64_t deadline_ns = kNever;  ///< the earliest
  int64_t cost_ns = 0;
};

/// A line's queue, as the backlog has it.
struct LineBacklog {
  std::deque<PlannedBatch> batches;
  int64_t cost_ns = 0;  ///< of all of them, one after the other
};

/// Where a line is among those of its device.
struct LinePlace {
  bool is_active = false;  ///< something waits in it, and the device has it in its index
  FrontKey key;            ///< with these
  int64_t latest_ns = kNever;
  uint64_t plan_round = 0;  ///< scratch of the plan: its row, in the plan of that number
  uint32_t plan_row = 0;
};

/// Not thread safe: the device's owner guards it.
class Line {
 public:
  /// \param patience_ns  after which requests without deadline come before others
  Line(const ExecutionDemand& demand, int64_t patience_ns)
      : model(demand.model),
        version(demand.version),
        target_ns(demand.latency_target_ns),
        size_max(std::max(1u, demand.max_batch_size)),
        patience_ns_(patience_ns) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  /// What an execution of a batch takes by itself, with a margin for how much executions vary; 0: not known.
  int64_t cost_ns(uint32_t size) const noexcept { return profile.known() ? profile.estimate_ns(size) : 0; }
  /// Whether a single request can be in time at all. Where it cannot, the target means nothing.
  bool can_meet_target() const noexcept {
    return target_ns != 0 && (!profile.known() || cost_ns(1) <= target_ns);
  }
  QueuedRequest waiting_of(const WaitingRequest& request) const noexcept {
    int64_t deadline_ns = request.deadline_ns == 0 ? kNever : request.deadline_ns;
    if (can_meet_target()) deadline_ns = std::min(deadline_ns, request.since_ns + target_ns);
    if (deadline_ns != kNever) return {deadline_ns, true, request.weight};
    return {request.since_ns + patience_ns_, false, request.weight};
  }
  /// Of a request that nobody has announced.
  QueuedRequest unannounced(int64_t since_ns) const noexcept { return {since_ns + patience_ns_, false, 1}; }

  void push(const QueuedRequest& waiting) {
    queue.push_back(waiting);
    weight += waiting.weight;
  }
  /// Takes so much away from the front. \returns the earliest deadline among it; kNever: none is bound
  int64_t pop(uint64_t much) noexcept {
    int64_t deadline_ns = kNever;
    while (much != 0 && !queue.empty()) {
      const QueuedRequest front = queue.front();
      queue.pop_front();
      if (front.is_bound) deadline_ns = std::min(deadline_ns, front.deadline_ns);
      much -= std::min<uint64_t>(much, front.weight);
      weight -= front.weight;
    }
    return deadline_ns;
  }

  const std::string model;
  const int64_t version;
  const int64_t target_ns;  ///< 0: none
  const uint32_t size_max;
  ExecutionProfile profile;
  std::deque<QueuedRequest> queue;
  uint64_t weight = 0;                  ///< of the queue
  uint32_t instances = 0, running = 0;  ///< those that there are, execute
  std::vector<Runner*> asking;          ///< those that wait for admission, as they came
  int64_t asking_since_ns = 0;          ///< the first of those that wait
  LinePlace place;
  LineBacklog backlog;
  uint64_t taken = 0, refused = 0;  ///< requests with a deadline
  uint64_t executed = 0;            ///< batches

 private:
  const int64_t patience_ns_;
};

}  // namespace atl::deadlines
