#include "schedulers/common/batch/policy_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/scheduler.h"
#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;

constexpr int64_t kStart = 1'000 * kNsPerUs;

TEST(QueuePolicy, ARequestMayOnlyShortenTheTimeout) {
  struct Row {
    uint64_t default_us;
    bool may_override;
    uint64_t request_us, expected_us;
  };
  constexpr Row kRows[] = {
      {0, false, 0, 0},
      {0, false, 5, 0},
      {0, true, 5, 0},  // without a default an override has no effect
      {10, false, 0, 10},
      {10, false, 5, 10},
      {10, true, 0, 10},
      {10, true, 5, 5},
      {10, true, 10, 10},
      {10, true, 15, 10},
      {UINT64_MAX, true, UINT64_MAX, UINT64_MAX},
      {UINT64_MAX, true, 1, 1},
  };
  for (const Row& row : kRows) {
    QueuePolicy policy{.allow_timeout_override = row.may_override, .default_timeout_us = row.default_us};
    Request request;
    request.timeout_us = row.request_us;
    EXPECT_EQ(policy.timeout_us(request), row.expected_us)
        << row.default_us << " override " << row.may_override << " request " << row.request_us;
  }
}

TEST(QueuePolicies, LevelOfARequest) {
  struct Row {
    uint64_t levels, default_level, priority, expected;
  };
  constexpr Row kRows[] = {
      {0, 0, 0, 0},
      {0, 0, 1, 0},
      {0, 3, UINT64_MAX, 0},  // no levels: one queue, whatever is asked
                              // for
      {3, 2, 0, 2},
      {3, 2, 1, 1},
      {3, 2, 3, 3},
      {3, 2, 4, 2},
      {3, 2, UINT64_MAX, 2},
      {1, 1, 0, 1},
      {1, 1, 2, 1},
  };
  for (const Row& row : kRows) {
    QueuePolicies policies;
    policies.priority_levels = row.levels;
    policies.default_priority_level = row.default_level;
    Request request;
    request.priority = row.priority;
    EXPECT_EQ(policies.level_of(request), row.expected) << row.levels << ' ' << row.priority;
  }
}

TEST(QueuePolicies, LevelsWithoutAPolicyHaveTheDefault) {
  QueuePolicies policies;
  policies.default_policy.max_queue_size = 7;
  policies.by_level[2].max_queue_size = 9;
  EXPECT_EQ(policies.policy_of(1).max_queue_size, 7u);
  EXPECT_EQ(policies.policy_of(2).max_queue_size, 9u);
}

QueuePolicies three_levels() {
  QueuePolicies policies;
  policies.priority_levels = 3;
  policies.default_priority_level = 2;
  return policies;
}

QueuePolicy timeout(TimeoutAction action, uint64_t default_us, bool may_override = false) {
  return {.timeout_action = action, .allow_timeout_override = may_override, .default_timeout_us = default_us};
}

/// Requests by one-letter names.
class PolicyQueueTest : public ::testing::Test {
 protected:
  Request& make(std::string_view id, uint64_t priority = 0, uint64_t timeout_us = 0,
                uint32_t batch_size = 1) {
    requests_.push_back(std::make_unique<TestRequest>(id));
    Request& request = requests_.back()->request();
    request.priority = priority;
    request.timeout_us = timeout_us;
    request.batch_size = batch_size;
    return request;
  }
  static std::string order(const PolicyQueue& queue) {
    std::string ids;
    for (Request* one = queue.front(); one != nullptr; one = queue.after(*one)) ids += one->id;
    return ids;
  }
  /// Those that were rejected by expire() so far, and forgets them.
  std::string rejected() {
    std::string ids;
    while (Request* request = rejected_.pop_front()) ids += request->id;
    return ids;
  }
  RequestQueue rejected_;
  std::vector<std::unique_ptr<TestRequest>> requests_;
};

TEST_F(PolicyQueueTest, AnEmptyQueue) {
  PolicyQueue queue{QueuePolicies{}};
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.front(), nullptr);
  EXPECT_EQ(queue.next_timeout_ns(), DeadlineHeap::kNever);
  EXPECT_FALSE(queue.expire(INT64_MAX, rejected_));
  EXPECT_FALSE(queue.contains(make("a")));
}

TEST_F(PolicyQueueTest, WithoutLevelsAllAreServedAsTheyCame) {
  PolicyQueue queue{QueuePolicies{}};
  uint64_t priority = 5;
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(queue.push(make(id, priority--), kStart));
  EXPECT_EQ(order(queue), "abc");
}

TEST_F(PolicyQueueTest, LevelsAreServedInTheirOrder) {
  PolicyQueue queue(three_levels());
  struct Row {
    const char* id;
    uint64_t priority;
  };
  for (Row row :
       {Row{"a", 3}, Row{"b", 1}, Row{"c", 0}, Row{"d", 2}, Row{"e", 1}, Row{"f", 4}, Row{"g", 3}}) {
    ASSERT_TRUE(queue.push(make(row.id, row.priority), kStart));
  }
  EXPECT_EQ(order(queue), "becdfag") << "c and f are of the default level, 2";
}

TEST_F(PolicyQueueTest, ItIsDescribedByLevels) {
  QueuePolicies policies;
  policies.priority_levels = 100;
  policies.default_priority_level = 2;
  policies.by_level[1] = timeout(TimeoutAction::kDelay, 10);
  PolicyQueue queue(policies);
  const auto described = [&] {
    QueueDescription found;
    queue.describe(found);
    return found;
  };
  EXPECT_EQ(described().requests, 0u);
  EXPECT_EQ(described().oldest_ns, 0);
  for (int64_t i = 0; i < 4; ++i) {
    Request& request = make(std::string_view("abcd").substr(static_cast<size_t>(i), 1), i == 3 ? 0 : 1);
    request.times.queue_start_ns = 100 - i;
    request.add_input().size_bytes = 10;
    request.add_input().size_bytes = 1;
    ASSERT_TRUE(queue.push(request, kStart));
  }
  QueueDescription found = described();
  EXPECT_EQ(found.requests, 4u);
  EXPECT_EQ(found.sampled_requests, 4u);
  EXPECT_EQ(found.sampled_bytes, 44u);
  ASSERT_EQ(found.level_count, 2u);
  EXPECT_EQ(found.levels[0].level, 1u);
  EXPECT_EQ(found.levels[0].requests, 3u);
  EXPECT_EQ(found.levels[0].oldest_ns, 100);
  EXPECT_EQ(found.levels[1].level, 2u);
  EXPECT_EQ(found.levels[1].oldest_ns, 97);
  EXPECT_EQ(found.oldest_ns, 97);
  EXPECT_EQ(queue.front_of(2)->id, "d");
  EXPECT_EQ(queue.front_of(0)->id, "a");
  EXPECT_EQ(queue.front_of(7), nullptr);
  // Those that are served after the others wait, too.
  EXPECT_TRUE(queue.expire(kStart + 11 * kNsPerUs, rejected_));
  EXPECT_EQ(described().levels[0].requests, 3u);
  EXPECT_EQ(queue.front_of(1)->id, "a");
  // More levels and requests than it has room for.
  for (uint64_t i = 3; i < 90; ++i) ASSERT_TRUE(queue.push(make("x", i), kStart));
  found = described();
  EXPECT_EQ(found.requests, 91u);
  EXPECT_EQ(found.level_count, QueueDescription::kLevelsMax);
  EXPECT_EQ(found.sampled_requests, QueueDescription::kSampleMax);
  while (!queue.empty()) queue.remove(*queue.front());
}

TEST_F(PolicyQueueTest, ALevelIsFull) {
  QueuePolicies policies = three_levels();
  policies.default_policy.max_queue_size = 1;
  policies.by_level[1].max_queue_size = 2;
  PolicyQueue queue(policies);
  EXPECT_TRUE(queue.push(make("a", 1), kStart));
  EXPECT_TRUE(queue.push(make("b", 1), kStart));
  Request& refused = make("c", 1);
  EXPECT_FALSE(queue.push(refused, kStart));
  EXPECT_FALSE(queue.contains(refused));
  EXPECT_TRUE(queue.push(make("d", 2), kStart)) << "each level has a limit of its own";
  EXPECT_FALSE(queue.push(make("e", 0), kStart));
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.total_weight(), 3u) << "one that was refused leaves nothing behind";
  queue.remove(*queue.front());
  EXPECT_TRUE(queue.push(refused, kStart));
  EXPECT_EQ(order(queue), "bcd");
}

TEST_F(PolicyQueueTest, DelayedRequestsCountForTheLimit) {
  QueuePolicies policies;
  policies.default_policy = timeout(TimeoutAction::kDelay, 10);
  policies.default_policy.max_queue_size = 2;
  PolicyQueue queue(policies);
  Request& a = make("a");
  Request& b = make("b");
  ASSERT_TRUE(queue.push(a, kStart));
  ASSERT_TRUE(queue.push(b, kStart));
  EXPECT_TRUE(queue.expire(kStart + 11 * kNsPerUs, rejected_));
  EXPECT_FALSE(queue.push(make("c"), kStart + 11 * kNsPerUs));
  queue.remove(a);
  EXPECT_TRUE(queue.push(make("d"), kStart + 11 * kNsPerUs));
  EXPECT_EQ(order(queue), "db");
}

TEST_F(PolicyQueueTest, TheLimitOfAllLevelsTogether) {
  QueuePolicies policies = three_levels();
  policies.size_max = 2;
  PolicyQueue queue(policies);
  EXPECT_TRUE(queue.push(make("a", 1), kStart));
  EXPECT_TRUE(queue.push(make("b", 3), kStart));
  EXPECT_FALSE(queue.push(make("c", 2), kStart));
  EXPECT_EQ(order(queue), "ab");
}

TEST_F(PolicyQueueTest, WeightsAreSummed) {
  PolicyQueue queue{QueuePolicies{}};
  Request& heavy = make("a", 0, 0, 1'000);
  ASSERT_TRUE(queue.push(heavy, kStart));
  ASSERT_TRUE(queue.push(make("b", 0, 0, 0), kStart));  // of a model that does not batch
  EXPECT_EQ(queue.total_weight(), 1'001u);
  queue.remove(heavy);
  EXPECT_EQ(queue.total_weight(), 1u);
}

TEST_F(PolicyQueueTest, ATimeoutHasRunOutWhenTheClockIsPastIt) {
  QueuePolicies policies;
  policies.default_policy = timeout(TimeoutAction::kReject, 10);
  PolicyQueue queue(policies);
  Request& request = make("a");
  ASSERT_TRUE(queue.push(request, kStart));
  EXPECT_EQ(queue.next_timeout_ns(), kStart + 10 * kNsPerUs);
  EXPECT_FALSE(queue.expire(kStart + 10 * kNsPerUs, rejected_));
  EXPECT_EQ(order(queue), "a");
  EXPECT_TRUE(queue.expire(kStart + 10 * kNsPerUs + 1, rejected_));
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.contains(request));
  EXPECT_EQ(queue.total_weight(), 0u);
  EXPECT_EQ(queue.next_timeout_ns(), DeadlineHeap::kNever);
  EXPECT_EQ(rejected(), "a");
}

TEST_F(PolicyQueueTest, RejectsWhoeverHasExpiredAnywhereInTheQueue) {
  QueuePolicies policies = three_levels();
  policies.default_policy = timeout(TimeoutAction::kReject, 100, true);
  policies.by_level[1] = timeout(TimeoutAction::kReject, 0);
  PolicyQueue queue(policies);
  ASSERT_TRUE(queue.push(make("a", 1, 1), kStart));  // level 1 has no timeout
  ASSERT_TRUE(queue.push(make("b", 2, 30), kStart));
  ASSERT_TRUE(queue.push(make("c", 2, 0), kStart));
  ASSERT_TRUE(queue.push(make("d", 3, 20), kStart));
  ASSERT_TRUE(queue.push(make("e", 3, 500), kStart));
  EXPECT_EQ(queue.next_timeout_ns(), kStart + 20 * kNsPerUs);
  EXPECT_TRUE(queue.expire(kStart + 31 * kNsPerUs, rejected_));
  EXPECT_EQ(rejected(), "db") << "as their timeouts ran out";
  EXPECT_EQ(order(queue), "ace");
  EXPECT_TRUE(queue.expire(kStart + 101 * kNsPerUs, rejected_));
  EXPECT_EQ(rejected(), "ce");
  EXPECT_EQ(order(queue), "a");
}

TEST_F(PolicyQueueTest, DelayedAreServedAfterTheirLevelAndBeforeTheNext) {
  QueuePolicies policies = three_levels();
  policies.by_level[1] = timeout(TimeoutAction::kDelay, 10, true);
  policies.by_level[2] = timeout(TimeoutAction::kDelay, 20);
  PolicyQueue queue(policies);
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(queue.push(make(id, 1), kStart));
  ASSERT_TRUE(queue.push(make("d", 1, 5), kStart));
  for (const char* id : {"m", "n"}) ASSERT_TRUE(queue.push(make(id, 2), kStart));
  ASSERT_TRUE(queue.push(make("x", 3), kStart));
  EXPECT_EQ(order(queue), "abcdmnx");
  EXPECT_TRUE(queue.expire(kStart + 6 * kNsPerUs, rejected_));
  EXPECT_EQ(order(queue), "abcdmnx") << "delayed, but still the last of its level";
  ASSERT_TRUE(queue.push(make("e", 1), kStart + 6 * kNsPerUs));
  EXPECT_EQ(order(queue), "abcedmnx");
  EXPECT_TRUE(queue.expire(kStart + 11 * kNsPerUs, rejected_));
  EXPECT_EQ(order(queue), "edabcmnx") << "as they expired, those at one time as they came";
  EXPECT_TRUE(queue.expire(kStart + 25 * kNsPerUs, rejected_));
  EXPECT_EQ(order(queue), "dabcemnx");
  ASSERT_TRUE(queue.push(make("o", 2), kStart + 25 * kNsPerUs));
  EXPECT_EQ(order(queue), "dabceomnx");
  EXPECT_EQ(queue.next_timeout_ns(), kStart + 45 * kNsPerUs) << "a delayed request has no timeout left";
  EXPECT_EQ(rejected(), "");
}

TEST_F(PolicyQueueTest, DelayedRequestsCanBeRemoved) {
  QueuePolicies policies;
  policies.default_policy = timeout(TimeoutAction::kDelay, 10);
  PolicyQueue queue(policies);
  Request& a = make("a");
  Request& b = make("b");
  ASSERT_TRUE(queue.push(a, kStart));
  ASSERT_TRUE(queue.push(b, kStart));
  ASSERT_TRUE(queue.expire(kStart + 11 * kNsPerUs, rejected_));
  ASSERT_TRUE(queue.push(make("c"), kStart + 11 * kNsPerUs));
  queue.remove(a);
  EXPECT_FALSE(queue.contains(a));
  EXPECT_EQ(order(queue), "cb");
  EXPECT_EQ(queue.size(), 2u);
}

TEST_F(PolicyQueueTest, TimeoutsThatAreTooLongToCountNeverEnd) {
  for (uint64_t timeout_us : {UINT64_MAX, static_cast<uint64_t>(INT64_MAX), uint64_t{INT64_MAX / kNsPerUs},
                              uint64_t{INT64_MAX / kNsPerUs} + 1}) {
    QueuePolicies policies;
    policies.default_policy = timeout(TimeoutAction::kReject, timeout_us);
    PolicyQueue queue(policies);
    ASSERT_TRUE(queue.push(make("a"), kStart));
    EXPECT_EQ(queue.next_timeout_ns(), DeadlineHeap::kNever) << timeout_us;
    EXPECT_FALSE(queue.expire(INT64_MAX, rejected_)) << timeout_us;
  }
  QueuePolicies policies;
  policies.default_policy = timeout(TimeoutAction::kReject, uint64_t{INT64_MAX / kNsPerUs} - 1'001);
  PolicyQueue queue(policies);
  ASSERT_TRUE(queue.push(make("a"), kStart));
  EXPECT_LT(queue.next_timeout_ns(), DeadlineHeap::kNever) << "the longest that can be told";
}

TEST_F(PolicyQueueTest, WhoWouldOvertake) {
  QueuePolicies policies = three_levels();
  policies.by_level[2] = timeout(TimeoutAction::kDelay, 10);
  PolicyQueue queue(policies);
  Request& delayed = make("d", 2);
  ASSERT_TRUE(queue.push(delayed, kStart));
  ASSERT_TRUE(queue.expire(kStart + 11 * kNsPerUs, rejected_));
  Request& waiting = make("w", 2);
  ASSERT_TRUE(queue.push(waiting, kStart + 11 * kNsPerUs));
  struct Row {
    uint64_t priority;
    bool before_waiting, before_delayed;
  };
  constexpr Row kRows[] = {{1, true, true}, {2, false, true}, {3, false, false}, {0, false, true}};
  for (const Row& row : kRows) {
    Request& newcomer = make("n", row.priority);
    EXPECT_EQ(queue.would_overtake(newcomer, waiting), row.before_waiting) << row.priority;
    EXPECT_EQ(queue.would_overtake(newcomer, delayed), row.before_delayed) << row.priority;
  }
}

TEST_F(PolicyQueueTest, ARequestMayComeBackAfterItLeft) {
  QueuePolicies policies;
  policies.default_policy = timeout(TimeoutAction::kReject, 10);
  PolicyQueue queue(policies), other{QueuePolicies{}};
  Request& request = make("a");
  ASSERT_TRUE(queue.push(request, kStart));
  queue.remove(request);
  EXPECT_EQ(queue.next_timeout_ns(), DeadlineHeap::kNever);
  ASSERT_TRUE(other.push(request, kStart));
  EXPECT_FALSE(queue.contains(request));
  EXPECT_TRUE(other.contains(request));
  other.remove(request);
  ASSERT_TRUE(queue.push(request, kStart + kNsPerUs));
  EXPECT_EQ(queue.next_timeout_ns(), kStart + 11 * kNsPerUs);
}

TEST_F(PolicyQueueTest, ClientsMayUseAsManyLevelsAsTheyLike) {
  QueuePolicies policies;
  policies.priority_levels = UINT64_MAX;
  policies.default_priority_level = 1;
  policies.default_policy = timeout(TimeoutAction::kReject, 10);
  PolicyQueue queue(policies);
  for (int round = 0; round < 3; ++round) {
    std::vector<Request*> mine;
    for (uint64_t i = 0; i < 500; ++i) {
      uint64_t priority = i % 2 == 0 ? UINT64_MAX - i : 1 + i;
      mine.push_back(&make("r", priority));
      ASSERT_TRUE(queue.push(*mine.back(), kStart));
    }
    uint64_t last_level = 0;
    for (Request* one = queue.front(); one != nullptr; one = queue.after(*one)) {
      EXPECT_GT(one->priority, last_level);
      last_level = one->priority;
    }
    EXPECT_EQ(last_level, UINT64_MAX);
    for (size_t i = 0; i < mine.size(); i += 3) queue.remove(*mine[i]);
    EXPECT_TRUE(queue.expire(kStart + 11 * kNsPerUs, rejected_));
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(rejected().size(), 500u - 167u);
  }
}

}  // namespace
}  // namespace atl::schedulers
