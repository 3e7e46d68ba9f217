#include "admission/rate_limiter/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/recorded_metrics.h"

namespace atl::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Listener final : AdmissionListener {
  virtual ~Listener() = default;
  void admitted(void* context) noexcept override { told.push_back(*static_cast<std::string*>(context)); }
  std::vector<std::string> told;
};

class RateLimiterTest : public ::testing::Test {
 protected:
  std::unique_ptr<AdmittedInstance> add(std::string model, std::vector<ExecutionResource> resources,
                                        uint32_t priority = 0) {
    ExecutionDemand demand;
    demand.model = std::move(model);
    demand.version = 1;
    demand.priority = priority;
    demand.resources = std::move(resources);
    auto instance = limiter.add_instance(demand);
    EXPECT_TRUE(instance.ok()) << instance.status().text();
    return std::move(instance).value();
  }
  bool ask(AdmittedInstance& instance, std::string& name, bool insists = false) {
    return instance.ask(listener, &name, insists);
  }

  test::FakeClock clock;
  RateLimiter limiter{ResourceLimits(), clock};
  Listener listener;
  std::string a_name = "a", b_name = "b", c_name = "c";
};

TEST_F(RateLimiterTest, WhoWaitsIsToldOnce) {
  auto a = add("a", {{"R1", 1, false}}), b = add("b", {{"R1", 1, false}});
  EXPECT_TRUE(ask(*a, a_name));
  EXPECT_FALSE(ask(*b, b_name));
  EXPECT_THAT(listener.told, IsEmpty());
  a->end(true);
  EXPECT_THAT(listener.told, ElementsAre("b"));
  EXPECT_FALSE(b->withdraw()) << "it is admitted";
  b->end(true);
  EXPECT_THAT(listener.told, ElementsAre("b"));
}

TEST_F(RateLimiterTest, WhoAsksAgainIsComparedWithThoseThatWait) {
  auto a = add("a", {{"R1", 1, false}}, 1), b = add("b", {{"R1", 1, false}}, 2);
  int a_runs = 0, b_runs = 0;
  ASSERT_TRUE(ask(*a, a_name));
  ASSERT_FALSE(ask(*b, b_name));
  bool a_is_on = true;
  for (int i = 0; i < 300; ++i) {
    AdmittedInstance& on = a_is_on ? *a : *b;
    ++(a_is_on ? a_runs : b_runs);
    if (on.ask_again(listener, a_is_on ? &a_name : &b_name, false)) continue;
    a_is_on = !a_is_on;
    ASSERT_EQ(listener.told.back(), a_is_on ? "a" : "b");
  }
  EXPECT_NEAR(a_runs, 200, 2);
  EXPECT_NEAR(b_runs, 100, 2);
  EXPECT_EQ(a->turn(), static_cast<uint64_t>(a_runs));
  EXPECT_EQ(b->turn(), 2 * static_cast<uint64_t>(b_runs)) << "so an idle one of the same model would be next";
}

TEST_F(RateLimiterTest, WhoHasWithdrawnIsNotTold) {
  auto a = add("a", {{"R1", 1, false}}), b = add("b", {{"R1", 1, false}}), c = add("c", {{"R1", 1, false}});
  EXPECT_TRUE(ask(*a, a_name));
  EXPECT_FALSE(ask(*b, b_name));
  EXPECT_FALSE(ask(*c, c_name));
  EXPECT_TRUE(b->withdraw());
  EXPECT_FALSE(b->withdraw());
  a->end(true);
  EXPECT_THAT(listener.told, ElementsAre("c"));
}

TEST_F(RateLimiterTest, InsistingTells) {
  auto a = add("a", {{"R1", 1, false}}), b = add("b", {{"R1", 1, false}});
  EXPECT_TRUE(ask(*a, a_name));
  EXPECT_FALSE(ask(*b, b_name));
  b->insist();
  b->insist();
  EXPECT_THAT(listener.told, ElementsAre("b"));
}

TEST_F(RateLimiterTest, AnInstanceThatGoesGivesBackWhatItHolds) {
  auto a = add("a", {{"R1", 1, false}}), b = add("b", {{"R1", 1, false}});
  EXPECT_TRUE(ask(*a, a_name));
  EXPECT_FALSE(ask(*b, b_name));
  a.reset();
  EXPECT_THAT(listener.told, ElementsAre("b"));
}

TEST_F(RateLimiterTest, WithoutResourcesNobodyWaits) {
  auto a = add("a", {}, 3);
  EXPECT_FALSE(a->holds_resources());
  EXPECT_TRUE(ask(*a, a_name));
  EXPECT_TRUE(a->ask_again(listener, &a_name, false));
  a->end(true);
  EXPECT_EQ(a->turn(), 6u);
  EXPECT_TRUE(add("b", {{"R1", 1, false}})->holds_resources());
}

TEST_F(RateLimiterTest, ARefusedInstanceLeavesNothing) {
  auto a = add("a", {{"R1", 1, true}});
  ExecutionDemand demand;
  demand.resources = {{"R0", 1, false}, {"R1", 1, false}};
  EXPECT_FALSE(limiter.add_instance(demand).ok());
  EXPECT_FALSE(test::RecordedMetrics(limiter).values().contains(
      "atoll_rate_limiter_resource_copies{resource=R0,device=0}"));
}

TEST_F(RateLimiterTest, Metrics) {
  auto a = add("a", {{"R1", 2, false}, {"G", 1, true}}), b = add("b", {{"R1", 2, false}});
  EXPECT_TRUE(ask(*a, a_name));
  EXPECT_FALSE(ask(*b, b_name));
  {
    auto values = test::RecordedMetrics(limiter).values();
    EXPECT_EQ(values["atoll_rate_limiter_resource_copies{resource=R1,device=0}"], 2);
    EXPECT_EQ(values["atoll_rate_limiter_resource_copies_in_use{resource=R1,device=0}"], 2);
    EXPECT_EQ(values["atoll_rate_limiter_resource_copies_in_use{resource=G,device=global}"], 1);
    EXPECT_EQ(values["atoll_rate_limiter_waiting_instances{resource=R1,device=0}"], 1);
    EXPECT_EQ(values["atoll_rate_limiter_executions_total{model=a,version=1}"], 0);
  }
  clock.advance(1'000 * kNsPerMs);
  a->end(true);
  b->end(false);
  auto values = test::RecordedMetrics(limiter).values();
  EXPECT_EQ(values["atoll_rate_limiter_resource_copies_in_use{resource=R1,device=0}"], 0);
  EXPECT_EQ(values["atoll_rate_limiter_waiting_instances{resource=R1,device=0}"], 0);
  EXPECT_EQ(values["atoll_rate_limiter_executions_total{model=a,version=1}"], 1);
  EXPECT_EQ(values["atoll_rate_limiter_executions_total{model=b,version=1}"], 0) << "it was not used";
  EXPECT_EQ(values["atoll_rate_limiter_waits_total{model=b,version=1}"], 1);
  EXPECT_EQ(values["atoll_rate_limiter_wait_seconds_total{model=b,version=1}"], 1);
}

}  // namespace
}  // namespace atl::admission
