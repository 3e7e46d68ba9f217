#include "admission/rate_limiter/turns.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace atl::admission {
namespace {

using State = Contender::State;

class Instances {
 public:
  explicit Instances(const std::vector<std::string>& limits = {})
      : pools(ResourceLimits::parse(limits).value()) {}

  Result<Contender*> try_add(std::vector<ExecutionResource> resources, uint32_t priority = 1,
                             int32_t device = 0) {
    ExecutionDemand demand;
    demand.resources = std::move(resources);
    demand.priority = priority;
    demand.device_id = device;
    auto claims = pools.add(demand);
    if (!claims.ok()) return std::move(claims).status();
    Contender* made = all_.emplace_back(std::make_unique<Contender>()).get();
    made->claims = std::move(claims).value();
    turns.add(*made, admitted);
    return made;
  }
  Contender& add(std::vector<ExecutionResource> resources, uint32_t priority = 1, int32_t device = 0) {
    auto made = try_add(std::move(resources), priority, device);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return **made;
  }
  void remove(Contender& contender) {
    turns.remove(contender);
    pools.remove(contender.claims);
    contender.claims.clear();
    turns.settle(admitted);
  }
  bool ask(Contender& contender, bool insists = false) {
    turns.ask(contender, insists, admitted);
    return contender.state == State::kAdmitted;
  }
  bool ask_again(Contender& contender) {
    turns.ask_again(contender, false, admitted);
    return contender.state == State::kAdmitted;
  }
  void end(Contender& contender, bool executed = true) { turns.end(contender, executed, admitted); }
  const ResourcePool* find(std::string_view name, int32_t device) {
    const ResourcePool* found = nullptr;
    pools.for_each([&](const ResourcePool& pool) {
      if (pool.name == name && pool.device_id == device) found = &pool;
    });
    return found;
  }
  uint64_t limit(std::string_view name, int32_t device = 0) {
    const ResourcePool* pool = find(name, device);
    return pool == nullptr ? 0 : pool->limit;
  }

  ResourcePools pools;
  Turns turns;
  AdmittedList admitted;

 private:
  std::vector<std::unique_ptr<Contender>> all_;
};

void expect_failure(const Result<Contender*>& made, std::string_view text) {
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(made.status().text(), text);
}

TEST(ResourcePools, AsManyCopiesAsTheNeediestInstanceNeeds) {
  Instances instances;
  instances.add({{"R1", 4, false}, {"R2", 4, false}});
  Contender& b = instances.add({{"R2", 5, false}, {"R3", 10, false}, {"R4", 5, false}});
  instances.add({{"R1", 1, false}, {"R3", 7, false}, {"R4", 2, false}});
  EXPECT_EQ(instances.limit("R1"), 4u);
  EXPECT_EQ(instances.limit("R2"), 5u);
  EXPECT_EQ(instances.limit("R3"), 10u);
  EXPECT_EQ(instances.limit("R4"), 5u);
  instances.remove(b);
  EXPECT_EQ(instances.limit("R2"), 4u);
  EXPECT_EQ(instances.limit("R3"), 7u);
  EXPECT_EQ(instances.limit("R4"), 2u);
}

TEST(ResourcePools, TheExampleOfTwoDevices) {
  Instances instances({"R1:10", "R2:5:0", "R2:8:1", "R3:2"});
  for (int32_t device : {0, 1}) {
    instances.add({{"R1", 1, false}, {"R2", 1, false}, {"R3", 1, true}}, 1, device);
  }
  EXPECT_EQ(instances.limit("R3", ResourcePool::kGlobal), 2u);
  EXPECT_EQ(instances.limit("R1", 0), 10u);
  EXPECT_EQ(instances.limit("R2", 0), 5u);
  EXPECT_EQ(instances.limit("R1", 1), 10u);
  EXPECT_EQ(instances.limit("R2", 1), 8u);
  size_t pools = 0;
  instances.pools.for_each([&](const ResourcePool&) { ++pools; });
  EXPECT_EQ(pools, 5u);
}

TEST(ResourcePools, MoreThanThereIsIsRefused) {
  Instances instances({"R1:10", "R2:5:0"});
  expect_failure(instances.try_add({{"R1", 11, false}}),
                 "Resource count for \"R1\" is limited to 10 which will prevent scheduling of one or more "
                 "model instances, the minimum required count is 11");
  expect_failure(instances.try_add({{"R2", 1, false}}, 1, 1),
                 "Resource count for \"R2\" is limited to 0 which will prevent scheduling of one or more "
                 "model instances, the minimum required count is 1");
  expect_failure(instances.try_add({{"R3", 1, true}}),
                 "Resource count for \"R3\" is limited to 0 which will prevent scheduling of one or more "
                 "model instances, the minimum required count is 1");
  EXPECT_EQ(instances.find("R1", 0), nullptr) << "nothing is left of a refused one";
}

TEST(ResourcePools, OneNameHasOneScope) {
  constexpr std::string_view kText =
      "Resource \"R1\" is present as both global and device-specific resource in the model configuration.";
  Instances instances;
  Contender& global = instances.add({{"R1", 1, true}});
  expect_failure(instances.try_add({{"R1", 1, false}}), kText);
  instances.remove(global);
  Contender& local = instances.add({{"R1", 1, false}}, 1, 3);
  expect_failure(instances.try_add({{"R1", 1, true}}), kText);
  instances.remove(local);
  expect_failure(instances.try_add({{"R1", 1, true}, {"R1", 1, false}}), kText);
  instances.add({{"R", 1, true}});
  instances.add({{"R1", 1, true}});
}

TEST(ResourcePools, OfTwoEntriesOfANameTheLargerHolds) {
  Instances instances;
  Contender& one = instances.add({{"R1", 2, false}, {"R1", 5, false}, {"R1", 3, false}, {"R2", 0, false}});
  ASSERT_EQ(one.claims.size(), 1u);
  EXPECT_EQ(one.claims[0].count, 5u);
}

TEST(Turns, AllOrNothing) {
  Instances instances({"R1:1", "R2:1"});
  Contender& first = instances.add({{"R1", 1, false}});
  Contender& both = instances.add({{"R1", 1, false}, {"R2", 1, false}});
  Contender& second = instances.add({{"R2", 1, false}});
  EXPECT_TRUE(instances.ask(first));
  EXPECT_FALSE(instances.ask(both));
  EXPECT_EQ(instances.find("R2", 0)->in_use, 0u);
  EXPECT_TRUE(instances.ask(second)) << "what it needs is free, whoever waits";
  instances.end(first);
  EXPECT_EQ(both.state, State::kWaiting);
  instances.end(second);
  EXPECT_EQ(both.state, State::kAdmitted);
}

TEST(Turns, EachDeviceHasItsOwn) {
  Instances instances({"R1:1"});
  Contender& zero = instances.add({{"R1", 1, false}}, 1, 0);
  Contender& also_zero = instances.add({{"R1", 1, false}}, 1, 0);
  Contender& one = instances.add({{"R1", 1, false}}, 1, 1);
  EXPECT_TRUE(instances.ask(zero));
  EXPECT_FALSE(instances.ask(also_zero));
  EXPECT_TRUE(instances.ask(one));
}

TEST(Turns, OneReleaseAdmitsAsManyAsFit) {
  Instances instances({"R1:4"});
  Contender& large = instances.add({{"R1", 4, false}});
  std::vector<Contender*> small;
  for (int i = 0; i < 5; ++i) small.push_back(&instances.add({{"R1", 1, false}}));
  EXPECT_TRUE(instances.ask(large));
  for (Contender* one : small) EXPECT_FALSE(instances.ask(*one));
  instances.end(large);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(small[i]->state, State::kAdmitted) << i;
  EXPECT_EQ(small[4]->state, State::kWaiting);
}

TEST(Turns, OneThatNeedsMuchIsServedAfterHavingBeenPassedBy) {
  Instances instances({"R1:2"});
  Contender& large = instances.add({{"R1", 2, false}});
  Contender& a = instances.add({{"R1", 1, false}});
  Contender& b = instances.add({{"R1", 1, false}});
  ASSERT_TRUE(instances.ask(a));
  ASSERT_TRUE(instances.ask(b));
  ASSERT_FALSE(instances.ask(large));
  int passed_by = 0;
  // They end in turns, so that there is never a moment with both copies free.
  while (large.state == State::kWaiting && passed_by < 1000) {
    Contender& one = passed_by % 2 == 0 ? a : b;
    if (one.state != State::kAdmitted) break;
    if (instances.ask_again(one)) ++passed_by;
  }
  EXPECT_GE(passed_by, static_cast<int>(Turns::kPatience)) << "free copies are used meanwhile";
  EXPECT_LE(passed_by, 4 * static_cast<int>(Turns::kPatience));
  for (Contender* one : {&a, &b}) {
    if (one->state == State::kAdmitted) instances.end(*one);
  }
  EXPECT_EQ(large.state, State::kAdmitted);
}

TEST(Turns, WhatOneThatIsOverDueDoesNotLackIsLeftToOthers) {
  Instances instances({"LONG:1", "SHORT:1"});
  Contender& long_one = instances.add({{"LONG", 1, false}});
  Contender& both = instances.add({{"LONG", 1, false}, {"SHORT", 1, false}});
  Contender& short_one = instances.add({{"SHORT", 1, false}});
  ASSERT_TRUE(instances.ask(long_one));
  ASSERT_FALSE(instances.ask(both));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(instances.ask(short_one)) << i;
    instances.end(short_one);
  }
  EXPECT_TRUE(both.over_due);
  ASSERT_TRUE(instances.ask(short_one));
  EXPECT_FALSE(instances.ask_again(long_one)) << "this is what it has waited for";
  EXPECT_FALSE(instances.ask_again(short_one)) << "and now it is its turn";
  EXPECT_EQ(both.state, State::kAdmitted);
}

TEST(Turns, WithdrawingGivesWhatWasKeptToOthers) {
  Instances instances({"R1:2"});
  Contender& large = instances.add({{"R1", 2, false}});
  Contender& a = instances.add({{"R1", 1, false}});
  Contender& b = instances.add({{"R1", 1, false}});
  ASSERT_TRUE(instances.ask(a));
  ASSERT_FALSE(instances.ask(large));
  while (!large.over_due) {
    ASSERT_TRUE(instances.ask(b));
    instances.end(b);
  }
  ASSERT_FALSE(instances.ask(b));
  instances.turns.withdraw(large, instances.admitted);
  EXPECT_EQ(b.state, State::kAdmitted);
  EXPECT_EQ(large.state, State::kIdle);
  EXPECT_EQ(instances.find("R1", 0)->kept, 0u);
}

TEST(Turns, InsistingIsAdmittedBeyondTheLimit) {
  Instances instances({"R1:1"});
  Contender& caller = instances.add({{"R1", 1, false}});
  Contender& called = instances.add({{"R1", 1, false}});
  Contender& other = instances.add({{"R1", 1, false}});
  ASSERT_TRUE(instances.ask(caller));
  ASSERT_TRUE(instances.ask(called, true));
  EXPECT_EQ(instances.find("R1", 0)->in_use, 2u);
  EXPECT_FALSE(instances.ask(other));
  instances.end(called);
  EXPECT_EQ(other.state, State::kWaiting);
  instances.turns.insist(other, instances.admitted);
  EXPECT_EQ(other.state, State::kAdmitted);
  instances.end(other);
  instances.end(caller);
  EXPECT_EQ(instances.find("R1", 0)->in_use, 0u);
}

TEST(Turns, AnAdmissionThatWasNotUsedIsNoTurn) {
  Instances instances({"R1:1"});
  Contender& a = instances.add({{"R1", 1, false}});
  Contender& b = instances.add({{"R1", 1, false}});
  Contender& holder = instances.add({{"R1", 1, false}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(instances.ask(a));
    instances.end(a, false);
  }
  ASSERT_TRUE(instances.ask(b));
  instances.end(b);
  ASSERT_TRUE(instances.ask(holder));
  ASSERT_FALSE(instances.ask(b));
  ASSERT_FALSE(instances.ask(a));
  instances.end(holder);
  EXPECT_EQ(a.state, State::kAdmitted);
}

TEST(Turns, RemovingGivesBackAndMakesRoomForOthers) {
  Instances instances;
  Contender& ten = instances.add({{"R1", 10, false}});
  Contender& five = instances.add({{"R1", 5, false}});
  Contender& also_five = instances.add({{"R1", 5, false}});
  ASSERT_TRUE(instances.ask(five));
  ASSERT_TRUE(instances.ask(also_five));
  ASSERT_FALSE(instances.ask(ten));
  instances.remove(ten);
  EXPECT_EQ(instances.limit("R1"), 5u);
  EXPECT_FALSE(instances.ask_again(five)) << "there are fewer copies now";
  instances.remove(also_five);
  EXPECT_EQ(five.state, State::kAdmitted);
  EXPECT_EQ(instances.turns.waiting(), 0u);
  EXPECT_EQ(instances.find("R1", 0)->in_use, 5u);
}

TEST(Turns, ANewInstanceThatMakesAPoolLargerMakesRoom) {
  Instances instances;
  Contender& a = instances.add({{"R1", 2, false}});
  Contender& b = instances.add({{"R1", 2, false}});
  ASSERT_TRUE(instances.ask(a));
  ASSERT_FALSE(instances.ask(b));
  instances.add({{"R1", 4, false}});
  EXPECT_EQ(b.state, State::kAdmitted);
}

}  // namespace
}  // namespace atl::admission
