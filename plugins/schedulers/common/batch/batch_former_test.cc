#include "schedulers/common/batch/batch_former.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kNow = kNsPerSecond;

/// A queue, what may be in it, and a former.
class FormerBench {
 public:
  explicit FormerBench(BatchRules rules, BatchStrategy* strategy = nullptr, QueuePolicies policies = {})
      : queue(std::move(policies)), former(queue, std::move(rules), compatibility_, strategy) {}

  /// \param width  of an input with a variable dimension
  Request& push(uint32_t weight, int64_t age_us = 0, int64_t width = 1, uint64_t priority = 0) {
    requests_.push_back(std::make_unique<TestRequest>(cat("r", requests_.size())));
    Request& request = requests_.back()->request();
    requests_.back()->add_raw_input("X", DataType::kFp32, {weight, width}, {});
    request.batch_size = weight;
    request.priority = priority;
    request.times.queue_start_ns = kNow - age_us * kNsPerUs;
    EXPECT_TRUE(queue.push(request, kNow));
    former.arrived(request);
    return request;
  }
  void take(uint32_t count) {
    former.forget();
    while (count-- > 0) queue.remove(*queue.front());
  }

  PolicyQueue queue;

 private:
  static BatchCompatibility compare_x() {
    BatchCompatibility rules;
    rules.compared = {{"X", false, -1}};
    rules.has_batch_dimension = true;
    return rules;
  }
  BatchCompatibility compatibility_ = compare_x();
  std::vector<std::unique_ptr<TestRequest>> requests_;

 public:
  BatchFormer former;
};

BatchRules rules(uint32_t size_max, std::vector<uint32_t> preferred, int64_t delay_us) {
  return {.size_max = size_max,
          .one_request = false,
          .preferred_sizes = std::move(preferred),
          .delay_ns = delay_us * kNsPerUs};
}

struct Waiting {
  uint32_t weight;
  int64_t age_us = 0;
  int64_t width = 1;
};

constexpr int64_t kNotAgain = -1;

struct DecisionRow {
  const char* what;
  BatchRules rules;
  std::vector<Waiting> queue;
  uint32_t count, size;
  int64_t look_in_us = kNotAgain;
};

std::vector<Waiting> singles(size_t count, int64_t age_us = 0) {
  return std::vector<Waiting>(count, Waiting{1, age_us});
}

void check(const std::vector<DecisionRow>& rows) {
  for (const DecisionRow& row : rows) {
    FormerBench bench(row.rules);
    for (const Waiting& one : row.queue) bench.push(one.weight, one.age_us, one.width);
    for (int look = 0; look < 2; ++look) {  // to look changes nothing
      BatchDecision decision = bench.former.decide(kNow);
      EXPECT_EQ(decision.count, row.count) << row.what;
      EXPECT_EQ(decision.size, row.size) << row.what;
      int64_t expected_ns =
          row.look_in_us == kNotAgain ? DeadlineHeap::kNever : kNow + row.look_in_us * kNsPerUs;
      EXPECT_EQ(decision.recheck_ns, expected_ns) << row.what;
    }
  }
}

TEST(BatchFormer, Delays) {
  BatchRules d100 = rules(8, {4, 8}, 100), d0 = rules(8, {4, 8}, 0);
  check({
      {"nothing waits", d100, {}, 0, 0},
      {"nothing waits, no delay", d0, {}, 0, 0},
      {"one has just come", d100, singles(1), 0, 0, 100},
      {"its delay is nearly over", d100, singles(1, 99), 0, 0, 1},
      {"its delay is over", d100, singles(1, 100), 1, 1},
      {"its delay is long over", d100, singles(1, 5'000), 1, 1},
      {"several below any preferred size", d100, singles(3), 0, 0, 100},
      {"the oldest counts, wherever it is", d100, {{1, 3}, {1, 100}, {1, 5}}, 3, 3},
      {"the oldest says when to look again", d100, {{1, 3}, {1, 60}, {1, 5}}, 0, 0, 40},
      {"without a delay nobody waits", d0, singles(1), 1, 1},
      {"without a delay nobody is late", d0, singles(6, 5'000), 4, 4},
      {"without a delay those that wait together go together", d0, singles(3), 3, 3},
      {"came later than now, as other threads' clocks may say", d100, {{1, -7}}, 0, 0, 107},
  });
}

TEST(BatchFormer, PreferredSizes) {
  BatchRules d100 = rules(8, {4, 8}, 100), middle = rules(16, {4, 6}, 100);
  check({
      {"a preferred size goes at once", d100, singles(4), 4, 4},
      {"exactly it", d100, singles(5), 4, 4},
      {"the largest that is met", d100, singles(8), 8, 8},
      {"the largest that is met, of more", d100, singles(12), 8, 8},
      {"met with heavy requests", d100, {{3}, {1}, {2}}, 2, 4},
      {"met by the first alone", d100, {{4}, {2}}, 1, 4},
      {"not met, and more may come", d100, {{3}, {3}}, 0, 0, 100},
      {"jumped over, the next is met", d100, {{3}, {3}, {2}}, 3, 8},
      {"late: all that fits, not the preferred size", d100, singles(5, 100), 5, 5},
      {"late: the one late request takes the others along", d100, {{1, 100}, {1}, {1}, {1}, {1}}, 5, 5},
      {"late: no more than fits", d100, singles(12, 100), 8, 8},
      {"above the largest preferred size only when late", middle, singles(9), 6, 6},
      {"above the largest preferred size, late", middle, singles(9, 100), 9, 9},
      {"above the largest preferred size, late, up to the maximum", middle, singles(20, 100), 16, 16},
      {"the largest is jumped over, a smaller was met", middle, {{4}, {1}, {3}}, 1, 4},
      {"the largest is jumped over, none was met: what fits below it", middle, {{3}, {2}, {3}}, 2, 5},
      {"the same, late", middle, {{3, 100}, {2}, {3}}, 3, 8},
      {"the same, without delay", rules(16, {4, 6}, 0), {{3}, {2}, {3}}, 2, 5},
      {"the first alone is above all of them", middle, {{7}}, 1, 7},
      {"the first alone is above all of them, others wait", middle, {{7}, {1}, {1}}, 1, 7},
      {"the same, late", middle, {{7, 100}, {1}, {1}}, 3, 9},
      {"one preferred size of one", rules(8, {1}, 100), singles(3), 1, 1},
      {"a model that does not batch", rules(1, {1}, 100), singles(3), 1, 1},
  });
}

TEST(BatchFormer, TheMaximum) {
  BatchRules d100 = rules(8, {8}, 100);
  check({
      {"the next does not fit, so nobody is waited for", d100, {{3}, {3}, {3}}, 2, 6},
      {"nor when late", d100, {{3, 100}, {3}, {3}}, 2, 6},
      {"nobody is taken out of turn to fill it", d100, {{5}, {5}, {3}}, 1, 5},
      {"heavier than the maximum goes alone", d100, {{9}}, 1, 9},
      {"heavier than the maximum goes alone, others wait", d100, {{9}, {1}}, 1, 9},
      {"heavier than the maximum goes alone, late", d100, {{9, 100}, {1}}, 1, 9},
      {"the next is heavier than the maximum", d100, {{1}, {9}}, 1, 1},
      {"weights that do not fit into 32 bits together", d100, {{UINT32_MAX}, {UINT32_MAX}}, 1, UINT32_MAX},
      {"the largest maximum",
       rules(UINT32_MAX, {UINT32_MAX}, 100),
       {{UINT32_MAX - 1}, {2}},
       1,
       UINT32_MAX - 1},
      {"the largest maximum, late",
       rules(UINT32_MAX, {UINT32_MAX}, 100),
       {{UINT32_MAX - 1, 100}, {2}},
       1,
       UINT32_MAX - 1},
      {"weight 0 counts as one", d100, std::vector<Waiting>(8, Waiting{0}), 8, 8},
  });
}

TEST(BatchFormer, OneRequestABatch) {
  BatchRules one;
  one.one_request = true;
  check({
      {"one", one, {{1}}, 1, 1},
      {"heavy", one, {{70}, {1}}, 1, 70},
      {"many", one, singles(5), 1, 1},
      {"other shape", one, {{1, 0, 1}, {1, 0, 2}}, 1, 1},
  });
}

TEST(BatchFormer, RequestsThatDoNotFitTogether) {
  BatchRules d100 = rules(8, {4, 8}, 100);
  check({
      {"the next has another shape, so nobody is waited for", d100, {{1, 0, 2}, {1, 0, 2}, {1, 0, 3}}, 2, 2},
      {"nobody is taken out of turn", d100, {{1, 0, 2}, {1, 0, 3}, {1, 0, 2}}, 1, 1},
      {"compared with the first", d100, {{1, 0, 3}, {1, 0, 2}}, 1, 1},
      {"a preferred size was met before", d100, {{4, 0, 2}, {1, 0, 2}, {1, 0, 3}}, 1, 4},
      {"a preferred size was met before, late", d100, {{4, 100, 2}, {1, 0, 2}, {1, 0, 3}}, 2, 5},
      {"without a delay", rules(8, {8}, 0), {{1, 0, 2}, {1, 0, 2}, {1, 0, 3}}, 2, 2},
      {"late, of no use to the other one", d100, {{1, 0, 2}, {1, 200, 3}}, 1, 1},
  });
}

TEST(BatchFormer, ADelayThatNeverEndsIsNotLookedAtAgain) {
  BatchRules forever = rules(8, {8}, 0);
  forever.delay_ns = INT64_MAX;
  FormerBench bench(forever);
  bench.push(1);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, DeadlineHeap::kNever);
  EXPECT_EQ(bench.former.decide(INT64_MAX).count, 0u);
}

TEST(BatchFormer, ArrivalsAreAddedToWhatWasCollected) {
  FormerBench bench(rules(8, {4}, 100));
  bench.push(1, 10);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, kNow + 90 * kNsPerUs);
  bench.push(2, 30);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, kNow + 70 * kNsPerUs);
  bench.push(1);
  EXPECT_EQ(bench.former.decide(kNow).count, 3u);
  EXPECT_EQ(bench.former.decide(kNow).size, 4u);
}

TEST(BatchFormer, LevelsAreServedInTheirOrder) {
  QueuePolicies policies;
  policies.priority_levels = 3;
  policies.default_priority_level = 3;
  FormerBench bench(rules(4, {4}, 100), nullptr, policies);
  bench.push(2, 0, 1, 2);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u);
  bench.push(3, 0, 1, 1);  // is now the first, and with it the other does not fit
  EXPECT_EQ(bench.former.decide(kNow).count, 1u);
  EXPECT_EQ(bench.former.decide(kNow).size, 3u);
}

TEST(BatchFormer, AnArrivalThatOvertakesTheOthersIsTaken) {
  QueuePolicies policies;
  policies.priority_levels = 3;
  policies.default_priority_level = 3;
  FormerBench bench(rules(8, {8}, 100), nullptr, policies);
  bench.push(1, 60, 1, 2);
  bench.push(1, 70, 1, 3);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, kNow + 30 * kNsPerUs);
  bench.push(6, 0, 1, 2);  // between the two
  BatchDecision decision = bench.former.decide(kNow);
  EXPECT_EQ(decision.count, 3u);
  EXPECT_EQ(decision.size, 8u);
}

TEST(BatchFormer, WhatWasRemovedIsForgotten) {
  FormerBench bench(rules(8, {8}, 100));
  Request& old = bench.push(1, 90);
  bench.push(1, 20);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, kNow + 10 * kNsPerUs);
  bench.former.forget();
  bench.queue.remove(old);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, kNow + 80 * kNsPerUs);
}

TEST(BatchFormer, TheDelayMayChange) {
  FormerBench bench(rules(8, {8}, 100));
  bench.push(1, 10);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u);
  bench.former.set_delay(10 * kNsPerUs);
  EXPECT_EQ(bench.former.decide(kNow).count, 1u);
  bench.former.set_delay(50 * kNsPerUs);
  EXPECT_EQ(bench.former.decide(kNow).recheck_ns, kNow + 40 * kNsPerUs);
  bench.former.set_delay(0);
  EXPECT_EQ(bench.former.decide(kNow).count, 1u);
}

TEST(BatchFormer, AWindowTakesThePlaceOfThePreferredSizes) {
  struct Row {
    uint32_t window;
    std::vector<uint32_t> configured;
    size_t waiting;
    uint32_t expected;  ///< 0: it waits
  };
  const Row kRows[] = {
      {8, {4, 8}, 4, 0}, {8, {4, 8}, 9, 8}, {3, {4, 8}, 2, 0}, {3, {4, 8}, 4, 3},
      {8, {8}, 7, 0},    {8, {}, 7, 0},     {1, {8}, 2, 1},
  };
  for (const Row& row : kRows) {
    FormerBench bench(rules(8, row.configured, 0));
    bench.former.set_window(row.window, 100 * kNsPerUs);
    for (size_t i = 0; i < row.waiting; ++i) bench.push(1);
    EXPECT_EQ(bench.former.decide(kNow).count, row.expected)
        << "window " << row.window << " waiting " << row.waiting;
    bench.former.set_window(row.window, 0);
    EXPECT_EQ(bench.former.decide(kNow).count, std::min<size_t>(row.window, row.waiting));
  }
}

TEST(BatchFormer, AWindowThatShrinksCutsWhatWasCollected) {
  FormerBench bench(rules(8, {8}, 100));
  bench.former.set_window(8, 100 * kNsPerUs);
  for (int i = 0; i < 5; ++i) bench.push(1);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u);
  bench.former.set_window(2, 100 * kNsPerUs);
  EXPECT_EQ(bench.former.decide(kNow).count, 2u);
  bench.former.set_window(6, 100 * kNsPerUs);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u);
}

/// Writes down what it is asked, and excludes what it is told to.
class RecordingStrategy final : public BatchStrategy {
 public:
  void* begin() noexcept override {
    calls.push_back("begin");
    return &record_;
  }
  bool include(Request& request, void* record) noexcept override {
    EXPECT_EQ(record, &record_);
    calls.push_back(std::string(request.id));
    return request.id != excluded;
  }
  void end(void* record) noexcept override {
    EXPECT_EQ(record, &record_);
    calls.push_back("end");
  }
  std::vector<std::string> take() { return std::exchange(calls, {}); }
  std::vector<std::string> calls;
  std::string excluded;

 private:
  int record_ = 0;
};

TEST(BatchFormer, AStrategySeesEveryCandidateOnce) {
  RecordingStrategy strategy;
  {
    FormerBench bench(rules(4, {4}, 100), &strategy);
    EXPECT_EQ(bench.former.decide(kNow).count, 0u);
    EXPECT_THAT(strategy.take(), IsEmpty());
    bench.push(1);
    bench.push(1);
    EXPECT_EQ(bench.former.decide(kNow).count, 0u);
    EXPECT_EQ(bench.former.decide(kNow).count, 0u);
    EXPECT_THAT(strategy.take(), ElementsAre("begin", "r0", "r1"));
    bench.push(1);
    EXPECT_EQ(bench.former.decide(kNow).count, 0u);
    EXPECT_THAT(strategy.take(), ElementsAre("r2"));
    bench.push(1);
    bench.push(1);
    EXPECT_EQ(bench.former.decide(kNow).count, 4u);
    EXPECT_THAT(strategy.take(), ElementsAre("r3")) << "r4 is more than the maximum";
    bench.take(4);
    EXPECT_THAT(strategy.take(), ElementsAre("end"));
    bench.former.forget();
    EXPECT_THAT(strategy.take(), IsEmpty());
    EXPECT_EQ(bench.former.decide(kNow).count, 0u);
    EXPECT_THAT(strategy.take(), ElementsAre("begin", "r4"));
  }
  EXPECT_THAT(strategy.take(), ElementsAre("end")) << "a batch that never went is ended as well";
}

TEST(BatchFormer, AStrategyExcludes) {
  RecordingStrategy strategy;
  strategy.excluded = "r2";
  FormerBench bench(rules(8, {8}, 100), &strategy);
  for (int i = 0; i < 4; ++i) bench.push(1);
  EXPECT_EQ(bench.former.decide(kNow).count, 2u) << "nobody is waited for, and nobody taken out of turn";
  EXPECT_THAT(strategy.take(), ElementsAre("begin", "r0", "r1", "r2"));
  bench.take(2);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u) << "the first of a batch is in it whatever is said";
  EXPECT_THAT(strategy.take(), ElementsAre("end", "begin", "r2", "r3"));
}

TEST(BatchFormer, AStrategyIsNotAskedAboutWhatDoesNotFit) {
  RecordingStrategy strategy;
  FormerBench bench(rules(8, {8}, 100), &strategy);
  bench.push(1, 0, 2);
  bench.push(1, 0, 3);
  EXPECT_EQ(bench.former.decide(kNow).count, 1u);
  EXPECT_THAT(strategy.take(), ElementsAre("begin", "r0"));
}

TEST(BatchFormer, AStrategyBeginsAnewWhenSomeoneOvertakes) {
  RecordingStrategy strategy;
  QueuePolicies policies;
  policies.priority_levels = 2;
  policies.default_priority_level = 2;
  FormerBench bench(rules(8, {8}, 100), &strategy, policies);
  bench.push(1);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u);
  bench.push(1, 0, 1, 1);
  EXPECT_EQ(bench.former.decide(kNow).count, 0u);
  EXPECT_THAT(strategy.take(), ElementsAre("begin", "r0", "end", "begin", "r1", "r0"));
}

}  // namespace
}  // namespace atl::schedulers
