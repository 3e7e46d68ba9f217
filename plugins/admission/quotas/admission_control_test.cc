#include "admission/quotas/admission_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/quotas/testing/control_bench.h"

namespace atl::quotas {
namespace {

using Arrival = AdmissionControl::Arrival;
using ::testing::ElementsAre;

/// Requests that ran so long, one after the other, so that means are known.
void teach(ControlBench& bench, std::string_view tenant, int64_t ran_ns) {
  Waiter& waiter = bench.send(tenant).waiter;
  bench.now_ns += ran_ns;
  bench.end(waiter);
}

TEST(AdmissionControl, ATenantHasItsConcurrencyAndTheRestWaits) {
  ControlBench bench(settings_with({"a:concurrency=2,queue=1"}));
  Waiter& first = bench.send("a").waiter;
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  Waiter& waits = bench.send("a").waiter;
  EXPECT_EQ(waits.state, Waiter::State::kWaiting);
  auto refused = bench.send("a");
  EXPECT_EQ(refused.arrival, Arrival::kRefused);
  EXPECT_EQ(refused.waiter.refusal, Refusal::kConcurrency);
  EXPECT_TRUE(refused.waiter.at_own_limit);
  EXPECT_GT(refused.waiter.retry_after_ms, 0U);
  EXPECT_EQ(bench.arrive("b"), Arrival::kAdmitted) << "others are not concerned";
  bench.end(first);
  EXPECT_THAT(bench.decided, ElementsAre(&waits));
  EXPECT_FALSE(waits.refused);
  EXPECT_EQ(bench.control.running(), 3U);
}

TEST(AdmissionControl, ATenantHasItsRate) {
  ControlBench bench(settings_with({"a:rate=10/s,burst=2"}));
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  auto refused = bench.send("a");
  EXPECT_EQ(refused.arrival, Arrival::kRefused);
  EXPECT_EQ(refused.waiter.refusal, Refusal::kRate);
  EXPECT_EQ(refused.waiter.retry_after_ms, 100U);
  bench.now_ns += 100 * kNsPerMs;
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
}

TEST(AdmissionControl, ATenantInDebtIsRefusedUntilItIsPaid) {
  ControlBench bench(settings_with({"a:tokens=600/min"}, "tokens=60/min"));
  Waiter& first = bench.send("a").waiter;
  first.tenant->use({.prompt = 500, .generated = 0}, bench.now_ns);
  Waiter& second = bench.send("a").waiter;
  second.tenant->use({.prompt = 0, .generated = 120}, bench.now_ns);
  auto refused = bench.send("a");
  EXPECT_EQ(refused.arrival, Arrival::kRefused);
  EXPECT_EQ(refused.waiter.refusal, Refusal::kTokens);
  EXPECT_EQ(refused.waiter.retry_after_ms, 2000U);
  EXPECT_EQ(bench.arrive("b"), Arrival::kAdmitted) << "others are not concerned";
  bench.now_ns += 2 * kNsPerSecond - kNsPerMs;
  EXPECT_EQ(bench.arrive("a"), Arrival::kRefused);
  bench.now_ns += kNsPerMs;
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  const TenantCounts& counts = bench.control.tenants().counts().front();
  EXPECT_EQ(counts.tokens.prompt, 500U);
  EXPECT_EQ(counts.tokens.generated, 120U);
  EXPECT_EQ(counts.refused[static_cast<size_t>(Refusal::kTokens)], 2U);
}

TEST(AdmissionControl, ADebtTakesNothingOfTheRateOfRequests) {
  ControlBench bench(settings_with({"a:tokens=1/s,rate=1/h,burst=2"}));
  Waiter& first = bench.send("a").waiter;
  first.tenant->use({.prompt = 2, .generated = 0}, bench.now_ns);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench.send("a").waiter.refusal, Refusal::kTokens);
  bench.now_ns += kNsPerSecond;
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  EXPECT_EQ(bench.send("a").waiter.refusal, Refusal::kRate);
}

void follow(ControlBench& bench, const std::vector<std::string>& tenants, bool others_apart = false) {
  DecidedList decided;
  AdmissionSettings settings = settings_with(tenants);
  settings.tenants.others_apart = others_apart;
  settings.tenants.max_others = 10;
  bench.control.follow(settings, bench.now_ns, &decided);
  while (Waiter* waiter = decided.pop_front()) bench.decided.push_back(waiter);
}

TEST(AdmissionControl, OtherQuotasMeetWhatRunsAndWaits) {
  ControlBench bench(settings_with({"a:concurrency=1"}));
  Waiter& first = bench.send("a").waiter;
  Waiter& waits = bench.send("a").waiter;
  follow(bench, {"a:concurrency=2", "b:concurrency=1"});
  EXPECT_THAT(bench.decided, ElementsAre(&waits)) << "there is room now";
  EXPECT_EQ(bench.send("a").waiter.state, Waiter::State::kWaiting) << "two of it run";
  follow(bench, {"a:concurrency=1"});
  bench.end(first);
  EXPECT_THAT(bench.decided, ElementsAre(&waits)) << "one of it still runs";
  bench.end(waits);
  EXPECT_EQ(bench.decided.size(), 2U);
  EXPECT_EQ(bench.control.tenants().counts().front().admitted, 3U) << "what is counted stays";
}

TEST(AdmissionControl, WhatWasUsedOfARateStaysUsed) {
  ControlBench bench(settings_with({"a:rate=10/s,burst=2"}));
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  follow(bench, {"a:rate=10/s,burst=4"});
  EXPECT_EQ(bench.send("a").waiter.refusal, Refusal::kRate);
  follow(bench, {"a:rate=20/s,burst=4"});
  bench.now_ns += 50 * kNsPerMs;
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
}

TEST(AdmissionControl, TenantsThatGetOrLoseTheirNameKeepTheirRequests) {
  ControlBench bench(settings_with({"a:concurrency=1"}));
  Waiter& running = bench.send("a").waiter;
  Waiter& waits = bench.send("a").waiter;
  follow(bench, {});
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted) << "one of the others now, which have no limit";
  bench.end(running);
  EXPECT_THAT(bench.decided, ElementsAre(&waits)) << "its turn comes as before";
  bench.end(waits);

  follow(bench, {}, true);
  Waiter& apart = bench.send("b").waiter;
  follow(bench, {"b:concurrency=1"}, true);
  EXPECT_EQ(bench.send("b").waiter.state, Waiter::State::kWaiting);
  const auto& counts = bench.control.tenants().counts();
  EXPECT_EQ(counts.back().label, "b");
  EXPECT_EQ(counts.back().running, 1U);
  EXPECT_EQ(counts.back().waiting, 1U);
  follow(bench, {}, true);
  EXPECT_EQ(counts.back().running, 0U);
  bench.end(apart);
  EXPECT_EQ(bench.control.waiting(), 0U);
}

TEST(AdmissionControl, ARequestThatIsRefusedOtherwiseDoesNotCountForTheRate) {
  ControlBench bench(settings_with({"a:rate=1/h,burst=2,concurrency=1,queue=0"}));
  Waiter& first = bench.send("a").waiter;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bench.send("a").waiter.refusal, Refusal::kConcurrency);
  bench.end(first);
  EXPECT_EQ(bench.arrive("a"), Arrival::kAdmitted);
  EXPECT_EQ(bench.send("a").waiter.refusal, Refusal::kRate);
}

TEST(AdmissionControl, PrioritiesWithinATenantThenArrival) {
  AdmissionSettings settings = settings_with({});
  settings.concurrency = 1;
  ControlBench bench(settings);
  Waiter& running = bench.send("").waiter;
  Waiter& low = bench.send("", 3).waiter;
  Waiter& middle_1 = bench.send("", 2).waiter;
  Waiter& middle_2 = bench.send("", 2).waiter;
  Waiter& high = bench.send("", 1).waiter;
  bench.end(running);
  for (int i = 0; i < 3; ++i) bench.end(*bench.decided.back());
  EXPECT_THAT(bench.decided, ElementsAre(&high, &middle_1, &middle_2, &low));
}

TEST(AdmissionControl, AFullQueueMakesRoomForAHigherPriority) {
  ControlBench bench(settings_with({"a:concurrency=1,queue=2"}));
  bench.send("a");
  Waiter& low = bench.send("a", 3).waiter;
  bench.send("a", 2);
  EXPECT_EQ(bench.arrive("a", 3), Arrival::kRefused);
  EXPECT_EQ(bench.arrive("a", 2), Arrival::kWaits);
  EXPECT_THAT(bench.decided, ElementsAre(&low));
  EXPECT_EQ(low.refusal, Refusal::kConcurrency);
  EXPECT_EQ(bench.arrive("a", 2), Arrival::kRefused);
}

TEST(AdmissionControl, SlotsGoToTenantsByTheirWeights) {
  AdmissionSettings settings = settings_with({"a:weight=3", "b:weight=1"});
  settings.concurrency = 1;
  ControlBench bench(settings);
  teach(bench, "", kNsPerMs);
  Waiter* running = &bench.send("").waiter;
  for (int i = 0; i < 40; ++i) {
    bench.send("b");
    bench.send("a");
  }
  int of_a = 0;
  for (int i = 0; i < 40; ++i) {
    bench.now_ns += kNsPerMs;
    bench.end(*running);
    running = bench.decided.back();
    of_a += running->tenant->name == "a";
  }
  EXPECT_NEAR(of_a, 30, 1);
}

TEST(AdmissionControl, NothingIsSavedUpByNotAsking) {
  AdmissionSettings settings = settings_with({"a:", "b:"});
  settings.concurrency = 1;
  ControlBench bench(settings);
  for (int i = 0; i < 1000; ++i) teach(bench, "a", kNsPerMs);  // alone, while b is away
  Waiter* running = &bench.send("a").waiter;
  for (int i = 0; i < 20; ++i) {
    bench.send("a");
    bench.send("b");
  }
  int of_a = 0;
  for (int i = 0; i < 20; ++i) {
    bench.now_ns += kNsPerMs;
    bench.end(*running);
    running = bench.decided.back();
    of_a += running->tenant->name == "a";
  }
  EXPECT_NEAR(of_a, 10, 1);
}

TEST(AdmissionControl, AWaitEndsAtTheDeadlineOrAtTheLongestWait) {
  AdmissionSettings settings = settings_with({"a:concurrency=1"});
  settings.max_wait_ns = 50 * kNsPerMs;
  ControlBench bench(settings);
  bench.send("a");
  Waiter& patient = bench.send("a").waiter;
  Waiter& hasty = bench.send("a", 1, 20 * kNsPerMs).waiter;
  EXPECT_EQ(bench.control.next_expiry_ns(), bench.now_ns + 20 * kNsPerMs);
  bench.now_ns += 20 * kNsPerMs;
  bench.expire();
  EXPECT_EQ(bench.control.next_expiry_ns(), bench.now_ns + 30 * kNsPerMs);
  bench.now_ns += 30 * kNsPerMs;
  bench.expire();
  EXPECT_THAT(bench.decided, ElementsAre(&hasty, &patient));
  EXPECT_EQ(hasty.refusal, Refusal::kDeadline);
  EXPECT_EQ(patient.refusal, Refusal::kWait);
  EXPECT_TRUE(patient.at_own_limit);
  EXPECT_EQ(bench.control.next_expiry_ns(), 0);
}

TEST(AdmissionControl, WhoeverComesTooLateIsNotAdmitted) {
  ControlBench bench(settings_with({"a:concurrency=1"}));
  Waiter& late = bench.waiters.emplace_back();
  late.deadline_ns = bench.now_ns - 1;
  DecidedList decided;
  EXPECT_EQ(bench.control.arrive(late, "a", bench.now_ns, &decided), Arrival::kRefused);
  EXPECT_EQ(late.refusal, Refusal::kDeadline);
  Waiter& running = bench.send("a").waiter;
  Waiter& waits = bench.send("a", 1, kNsPerMs).waiter;
  bench.now_ns += 2 * kNsPerMs;
  bench.end(running);  // before the timer came
  EXPECT_THAT(bench.decided, ElementsAre(&waits));
  EXPECT_EQ(waits.refusal, Refusal::kDeadline);
  EXPECT_EQ(bench.control.running(), 0U);
}

TEST(AdmissionControl, ACancelledRequestWaitsNoLonger) {
  ControlBench bench(settings_with({"a:concurrency=1"}));
  Waiter& running = bench.send("a").waiter;
  Waiter& first = bench.send("a").waiter;
  Waiter& second = bench.send("a").waiter;
  bench.cancel(first);
  bench.end(running);
  EXPECT_THAT(bench.decided, ElementsAre(&first, &second));
  EXPECT_EQ(first.refusal, Refusal::kCancelled);
  EXPECT_FALSE(second.refused);
}

TEST(AdmissionControl, OrderHoldsWhileOneOfTheTenantIsBeingResumed) {
  ControlBench bench(settings_with({"a:concurrency=2"}));
  Waiter& first = bench.send("a").waiter;
  bench.send("a");
  bench.send("a");
  DecidedList decided;
  bench.control.ended(*first.tenant, first.admitted_ns, first.expected_ns, bench.now_ns, &decided);
  Waiter* resuming = decided.front();
  ASSERT_NE(resuming, nullptr);
  bench.end(bench.waiters[1]);
  EXPECT_EQ(bench.arrive("a"), Arrival::kWaits) << "there is a slot, but one that came before is on its way";
  EXPECT_THAT(bench.decided, ElementsAre(&bench.waiters.back()));
  bench.control.resumed(*resuming->tenant);
}

// --- overload ---

TEST(Overload, TheLimitInFlightShedsLowPrioritiesFirst) {
  AdmissionSettings settings = settings_with({});
  settings.in_flight_limit = 10;
  ControlBench bench(settings);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bench.arrive("", 9), Arrival::kAdmitted);
  EXPECT_EQ(bench.arrive("", 9), Arrival::kRefused) << "half is for lower levels";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bench.arrive("", 2), Arrival::kAdmitted);
  EXPECT_EQ(bench.arrive("", 2), Arrival::kRefused) << "nine of ten are for the second level";
  EXPECT_EQ(bench.arrive("", 1), Arrival::kAdmitted);
  auto refused = bench.send("", 1);
  EXPECT_EQ(refused.arrival, Arrival::kRefused);
  EXPECT_EQ(refused.waiter.refusal, Refusal::kInFlight);
  EXPECT_GT(refused.waiter.retry_after_ms, 0U);
}

TEST(Overload, AWaitingRequestOfALowerPriorityMakesRoom) {
  AdmissionSettings settings = settings_with({});
  settings.in_flight_limit = 3;
  settings.concurrency = 1;
  ControlBench bench(settings);
  bench.send("");
  Waiter& low = bench.send("", 2).waiter;
  Waiter& high = bench.send("").waiter;
  EXPECT_EQ(bench.arrive("", 2), Arrival::kRefused);
  EXPECT_EQ(bench.arrive(""), Arrival::kWaits);
  EXPECT_THAT(bench.decided, ElementsAre(&low));
  EXPECT_EQ(low.refusal, Refusal::kInFlight);
  EXPECT_EQ(bench.arrive(""), Arrival::kRefused);
  EXPECT_EQ(high.state, Waiter::State::kWaiting);
}

TEST(Overload, WhatCanNotBeInTimeGoesBeforeAnythingElse) {
  AdmissionSettings settings = settings_with({});
  settings.in_flight_limit = 4;
  settings.concurrency = 1;
  ControlBench bench(settings);
  teach(bench, "", 100 * kNsPerMs);
  bench.send("");
  Waiter& in_time = bench.send("", 1, 500 * kNsPerMs).waiter;
  Waiter& late = bench.send("", 1, 90 * kNsPerMs).waiter;
  bench.send("", 2);
  EXPECT_EQ(bench.arrive(""), Arrival::kWaits);
  EXPECT_THAT(bench.decided, ElementsAre(&late));
  EXPECT_EQ(bench.arrive("", 1, 80 * kNsPerMs), Arrival::kRefused) << "late itself";
  EXPECT_EQ(in_time.state, Waiter::State::kWaiting);
}

/// One slot, 10 ms a request, a target of 50 ms over 100 ms.
struct SlowQueue : ControlBench {
  static AdmissionSettings slow() {
    AdmissionSettings settings = settings_with({});
    settings.concurrency = 1;
    settings.queue_delay_ns = 50 * kNsPerMs;
    settings.queue_interval_ns = 100 * kNsPerMs;
    return settings;
  }
  SlowQueue() : ControlBench(slow()) {
    teach(*this, "", 10 * kNsPerMs);
    running = &send("").waiter;
  }
  void turn() {
    now_ns += 10 * kNsPerMs;
    const size_t before = decided.size();
    end(*running);
    for (size_t i = before; i < decided.size(); ++i) {
      if (!decided[i]->refused) running = decided[i];
    }
  }
  Waiter* running = nullptr;
};

TEST(Overload, AQueueThatStaysTooSlowIsCutFromTheLowestPriority) {
  SlowQueue bench;
  for (int i = 0; i < 60; ++i) bench.send("", i % 2 == 0 ? 1 : 2);
  while (!bench.control.overloaded()) bench.turn();
  EXPECT_LE(bench.now_ns, kNsPerSecond + 200 * kNsPerMs);
  while (bench.control.waiting() > 10) bench.turn();
  uint64_t low = 0;
  for (Waiter* one : bench.decided) {
    EXPECT_TRUE(!one->refused || one->refusal == Refusal::kQueueDelay);
    low += one->refused && one->priority == 2;
  }
  EXPECT_GE(low, 20U) << "none of the first level before them";
  EXPECT_EQ(low, static_cast<uint64_t>(std::count_if(bench.decided.begin(), bench.decided.end(),
                                                     [](Waiter* one) { return one->refused; })));
}

TEST(Overload, WhileItLastsTheQueueIsAsLongAsTheTarget) {
  SlowQueue bench;
  int64_t longest_ns = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    bench.send("");
    bench.send("");  // twice as much as is done
    const size_t before = bench.decided.size();
    bench.turn();
    for (size_t i = before; i < bench.decided.size() && turn > 100; ++i) {
      if (!bench.decided[i]->refused) {
        longest_ns = std::max(longest_ns, bench.now_ns - bench.decided[i]->since_ns);
      }
    }
  }
  EXPECT_TRUE(bench.control.overloaded());
  EXPECT_LE(longest_ns, 60 * kNsPerMs);
  while (bench.control.waiting() != 0) bench.turn();
  bench.end(*bench.running);
  EXPECT_EQ(bench.arrive(""), Arrival::kAdmitted);
  EXPECT_FALSE(bench.control.overloaded());
}

TEST(Overload, ALimitOfATenantsOwnIsNoOverload) {
  AdmissionSettings settings = SlowQueue::slow();
  settings.concurrency = 10;
  settings.tenants = settings_with({"a:concurrency=1"}).tenants;
  ControlBench bench(settings);
  Waiter* running = &bench.send("a").waiter;
  for (int i = 0; i < 100; ++i) bench.send("a");
  for (int i = 0; i < 100; ++i) {
    bench.now_ns += 10 * kNsPerMs;
    bench.end(*running);
    running = bench.decided.back();
    EXPECT_FALSE(running->refused);
  }
  EXPECT_FALSE(bench.control.overloaded());
}

}  // namespace
}  // namespace atl::quotas
