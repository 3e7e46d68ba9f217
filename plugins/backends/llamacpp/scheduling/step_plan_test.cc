#include "backends/llamacpp/scheduling/step_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "atoll/testing/random.h"

namespace atl::llamacpp {
namespace {

using Given = std::vector<int32_t>;

TEST(StepPlan, GeneratingRequestsComeFirst) {
  const StepNeed needs[] = {{.pending = 1000, .order = 1}, {.pending = 1, .generates = true, .order = 2}};
  EXPECT_EQ(plan_step(needs, {.tokens_max = 512, .prompt_tokens = 64}), (Given{64, 1}));
}

TEST(StepPlan, WithoutReadersAPromptGetsAll) {
  const StepNeed needs[] = {{.pending = 1000, .order = 1}};
  EXPECT_EQ(plan_step(needs, {.tokens_max = 512, .prompt_tokens = 64}), (Given{512}));
}

TEST(StepPlan, AShortPromptPassesALongOneThatStillGoesOn) {
  const StepNeed needs[] = {{.pending = 2000, .order = 1}, {.pending = 40, .order = 2}};
  EXPECT_EQ(plan_step(needs, {.tokens_max = 100, .prompt_tokens = 100}), (Given{60, 40}));
  const StepNeed longer[] = {{.pending = 2000, .order = 1}, {.pending = 400, .order = 2}};
  EXPECT_EQ(plan_step(longer, {.tokens_max = 100, .prompt_tokens = 100}), (Given{25, 75}));
}

TEST(StepPlan, PriorityIsStronger) {
  const StepNeed needs[] = {{.pending = 10, .priority = 1, .order = 1},
                            {.pending = 500, .priority = 0, .order = 2}};
  EXPECT_EQ(plan_step(needs, {.tokens_max = 100, .prompt_tokens = 100}), (Given{0, 100}));
}

TEST(StepPlan, MoreThatGenerateThanAStepHolds) {
  std::vector<StepNeed> needs;
  for (uint64_t i = 0; i < 5; ++i)
    needs.push_back({.pending = 1, .generates = true, .priority = 0, .order = 5 - i});
  EXPECT_EQ(plan_step(needs, {.tokens_max = 3, .prompt_tokens = 3}), (Given{0, 0, 1, 1, 1}));
}

TEST(StepPlan, NeverTooMuchAndAlwaysSomething) {
  atl::test::Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<StepNeed> needs;
    for (uint64_t n = 1 + random.below(10); n > 0; --n) {
      const bool generates = random.below(2) == 0;
      needs.push_back({.pending = generates ? 1 : static_cast<int32_t>(1 + random.below(300)),
                       .generates = generates,
                       .priority = static_cast<int64_t>(random.below(3)),
                       .order = random.below(1000)});
    }
    const StepBudget budget{.tokens_max = static_cast<int32_t>(1 + random.below(100)),
                            .prompt_tokens = static_cast<int32_t>(1 + random.below(100))};
    const Given given = plan_step(needs, budget);
    ASSERT_EQ(given.size(), needs.size());
    for (size_t i = 0; i < needs.size(); ++i) {
      EXPECT_GE(given[i], 0);
      EXPECT_LE(given[i], needs[i].pending);
    }
    const int32_t sum = std::accumulate(given.begin(), given.end(), 0);
    EXPECT_LE(sum, budget.tokens_max);
    EXPECT_GT(sum, 0);
  }
}

}  // namespace
}  // namespace atl::llamacpp
