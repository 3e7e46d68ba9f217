/// PolicyQueue beside a model of it that is too plain to be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "atoll/testing/random.h"
#include "schedulers/common/batch/policy_queue.h"

namespace atl::schedulers {
namespace {

struct Entry {
  Request* request;
  uint64_t level;
  bool delayed;
  uint64_t order;       ///< of the arrival, or of the moment when it was delayed
  int64_t deadline_ns;  ///< kNever: none
  bool operator<(const Entry& other) const {
    return std::tie(level, delayed, order) < std::tie(other.level, other.delayed, other.order);
  }
};

/// Everything that waits, sorted by the order of service.
struct PlainQueue {
  const QueuePolicies& policies;
  std::vector<Entry> entries;
  uint64_t next_order = 0;

  bool push(Request& request, int64_t now_ns) {
    uint64_t level = policies.level_of(request);
    const QueuePolicy& policy = policies.policy_of(level);
    auto in_level =
        std::count_if(entries.begin(), entries.end(), [&](const Entry& one) { return one.level == level; });
    if (policies.size_max != 0 && entries.size() >= policies.size_max) return false;
    if (policy.max_queue_size != 0 && static_cast<uint64_t>(in_level) >= policy.max_queue_size) return false;
    uint64_t timeout_us = policy.timeout_us(request);
    int64_t deadline_ns =
        timeout_us == 0 ? DeadlineHeap::kNever : now_ns + static_cast<int64_t>(timeout_us) * kNsPerUs;
    entries.push_back({&request, level, false, next_order++, deadline_ns});
    std::sort(entries.begin(), entries.end());
    return true;
  }
  void remove(size_t index) { entries.erase(entries.begin() + static_cast<ptrdiff_t>(index)); }
  /// \returns who is rejected, in order.
  std::vector<Request*> expire(int64_t now_ns) {
    std::vector<Request*> rejected;
    while (true) {
      auto first = std::min_element(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.deadline_ns, a.order) < std::tie(b.deadline_ns, b.order);
      });
      if (first == entries.end() || first->deadline_ns >= now_ns) return rejected;
      if (policies.policy_of(first->level).timeout_action == TimeoutAction::kReject) {
        rejected.push_back(first->request);
        entries.erase(first);
        continue;
      }
      first->delayed = true;
      first->order = next_order++;
      first->deadline_ns = DeadlineHeap::kNever;
      std::sort(entries.begin(), entries.end());
    }
  }
  int64_t next_timeout_ns() const {
    int64_t next_ns = DeadlineHeap::kNever;
    for (const Entry& one : entries) next_ns = std::min(next_ns, one.deadline_ns);
    return next_ns;
  }
};

QueuePolicy random_policy(test::Random& random) {
  QueuePolicy policy;
  policy.timeout_action = random.chance(50) ? TimeoutAction::kDelay : TimeoutAction::kReject;
  policy.allow_timeout_override = random.chance(50);
  policy.default_timeout_us = random.chance(30) ? 0 : random.below(20) + 1;
  policy.max_queue_size = random.chance(50) ? 0 : random.below(10) + 1;
  return policy;
}

QueuePolicies random_policies(test::Random& random) {
  constexpr uint64_t kLevels[] = {0, 1, 3, 200};
  QueuePolicies policies;
  policies.priority_levels = kLevels[random.below(4)];
  if (policies.priority_levels != 0) {
    policies.default_priority_level = random.below(policies.priority_levels) + 1;
  }
  policies.default_policy = random_policy(random);
  for (uint64_t level = 1; level <= std::min<uint64_t>(policies.priority_levels, 5); ++level) {
    if (random.chance(50)) policies.by_level[level] = random_policy(random);
  }
  policies.size_max = random.chance(50) ? 0 : random.below(100) + 1;
  return policies;
}

class BothQueues {
 public:
  explicit BothQueues(uint64_t seed)
      : random_(seed),
        policies_(random_policies(random_)),
        requests_(150),
        plain_{policies_, {}, 0},
        queue_(policies_) {}

  void step() {
    now_ns_ += random_.between(0, 3 * kNsPerUs);
    uint64_t choice = random_.below(100);
    if (choice < 55) {
      push();
    } else if (choice < 75) {
      remove();
    } else if (choice < 95) {
      expire();
    } else {
      serve_some();
    }
    compare();
  }

 private:
  void push() {
    Request& request = requests_[random_.below(requests_.size())];
    if (queue_.contains(request)) return;
    request.priority = random_.below(policies_.priority_levels + 3);
    request.timeout_us = random_.chance(50) ? 0 : random_.below(25) + 1;
    request.batch_size = static_cast<uint32_t>(random_.below(5));
    if (!plain_.entries.empty()) {
      // What is said of a newcomer before it comes is what happens.
      Request& other = *plain_.entries[random_.below(plain_.entries.size())].request;
      bool overtakes = queue_.would_overtake(request, other);
      bool pushed = queue_.push(request, now_ns_);
      ASSERT_EQ(pushed, plain_.push(request, now_ns_));
      if (!pushed) return;
      auto place = [&](Request& which) {
        return std::find_if(plain_.entries.begin(), plain_.entries.end(),
                            [&](const Entry& one) { return one.request == &which; });
      };
      ASSERT_EQ(overtakes, place(request) < place(other));
    } else {
      ASSERT_EQ(queue_.push(request, now_ns_), plain_.push(request, now_ns_));
    }
  }
  void remove() {
    if (plain_.entries.empty()) return;
    size_t index = random_.below(plain_.entries.size());
    queue_.remove(*plain_.entries[index].request);
    plain_.remove(index);
  }
  void serve_some() {
    for (uint64_t left = random_.below(50); left > 0 && !plain_.entries.empty(); --left) {
      ASSERT_EQ(queue_.front(), plain_.entries.front().request);
      queue_.remove(*queue_.front());
      plain_.remove(0);
    }
  }
  void expire() {
    bool due = plain_.next_timeout_ns() < now_ns_;
    RequestQueue rejected;
    ASSERT_EQ(queue_.expire(now_ns_, rejected), due);
    for (Request* expected : plain_.expire(now_ns_)) ASSERT_EQ(rejected.pop_front(), expected);
    ASSERT_TRUE(rejected.empty());
  }
  void compare() {
    ASSERT_EQ(queue_.size(), plain_.entries.size());
    ASSERT_EQ(queue_.empty(), plain_.entries.empty());
    ASSERT_EQ(queue_.next_timeout_ns(), plain_.next_timeout_ns());
    uint64_t weight = 0;
    Request* next = queue_.front();
    for (const Entry& one : plain_.entries) {
      ASSERT_EQ(next, one.request);
      ASSERT_TRUE(queue_.contains(*next));
      weight += next->batch_weight();
      next = queue_.after(*next);
    }
    ASSERT_EQ(next, nullptr);
    ASSERT_EQ(queue_.total_weight(), weight);
  }

  test::Random random_;
  QueuePolicies policies_;
  std::vector<Request> requests_;
  PlainQueue plain_;
  PolicyQueue queue_;
  int64_t now_ns_ = kNsPerSecond;
};

TEST(PolicyQueueProperty, BehavesAsAPlainOneDoes) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    BothQueues both(seed);
    for (int step = 0; step < 400 && !::testing::Test::HasFatalFailure(); ++step) both.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace atl::schedulers
