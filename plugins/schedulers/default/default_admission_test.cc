// The default scheduler where executions have to be admitted.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/random.h"
#include "schedulers/common/testing/scheduler_bench.h"
#include "schedulers/default/default_provider.h"

namespace atl::schedulers {
namespace {

using test::FakeAdmission;
using test::TestRequest;

class AdmissionBench : public SchedulerBench {
 public:
  AdmissionBench(uint32_t instance_count, FakeAdmission& admission, int64_t light_execution_ns = 0)
      : SchedulerBench(
            instance_count,
            [&](test::FakeHost&) {
              DefaultSettings settings;
              settings.dispatcher.light_execution_ns = light_execution_ns;
              return std::make_shared<DefaultProvider>(settings);
            },
            {}, 0, &admission),
        admission_(admission) {}
  void end() {
    host.run_until_idle();
    expect_all_done();
    scheduler.reset();
    for (const std::string& problem : admission_.problems()) ADD_FAILURE() << problem;
    for (size_t i = 0; i < instances.size(); ++i)
      EXPECT_FALSE(admission_.waits(i) || admission_.is_admitted(i));
  }

 private:
  FakeAdmission& admission_;
};

class DefaultAdmission : public ::testing::Test {
 protected:
  FakeAdmission admission;
};

TEST_F(DefaultAdmission, EveryExecutionIsAskedForAndEnded) {
  AdmissionBench bench(1, admission);
  for (int i = 0; i < 5; ++i) bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_EQ(admission.counts().asked, 5u);
  EXPECT_EQ(admission.counts().executed, 5u);
  bench.end();
}

TEST_F(DefaultAdmission, OnTheThreadThatBringsTheRequestToo) {
  AdmissionBench bench(1, admission, 100 * kNsPerUs);
  bench.warm_up(20);
  EXPECT_TRUE(bench.enqueue().done());
  EXPECT_EQ(admission.counts().executed, 21u);
  admission.close(0);
  TestRequest& waits = bench.enqueue();
  EXPECT_FALSE(waits.done());
  admission.open(0);
  EXPECT_FALSE(waits.done()) << "not on the thread of whoever made room: it may be inside an execution";
  bench.end();
}

TEST_F(DefaultAdmission, AnExecutionThatFailsEndsAsWell) {
  AdmissionBench bench(1, admission);
  bench.behavior.fail_executes = 1;
  bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_EQ(bench.requests[0]->response().code, Code::kInternal);
  EXPECT_EQ(admission.counts().executed, 1u);
  bench.end();
}

TEST_F(DefaultAdmission, RequestsWaitInLineUntilTheirInstanceIsAdmitted) {
  admission.begin_closed();
  AdmissionBench bench(1, admission);
  for (int i = 0; i < 3; ++i) bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_EQ(bench.instances[0]->executions(), 0u);
  EXPECT_EQ(bench.scheduler->in_flight(), 3u);
  EXPECT_TRUE(admission.admit_once(0));
  bench.host.run_until_idle();
  EXPECT_EQ(bench.instances[0]->executions(), 1u) << "one admission, one execution";
  EXPECT_TRUE(admission.waits(0));
  admission.open(0);
  bench.end();
}

TEST_F(DefaultAdmission, AnInstanceThatIsAdmittedServesWhileAnotherWaits) {
  admission.begin_closed();
  AdmissionBench bench(3, admission);
  admission.open(2);
  bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_EQ(bench.instances[2]->executions(), 1u);
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(admission.waits(i)) << "there is nothing to wait for";
  admission.close(2);
  bench.enqueue();
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(admission.waits(i));
  admission.open(1);
  bench.host.run_until_idle();
  EXPECT_EQ(bench.instances[1]->executions(), 1u);
  bench.end();
}

TEST_F(DefaultAdmission, TheInstanceWhoseTurnItIsGoesFirst) {
  AdmissionBench bench(3, admission);
  for (int i = 0; i < 30; ++i) {
    bench.enqueue();
    bench.host.run_until_idle();
  }
  for (auto& instance : bench.instances) EXPECT_EQ(instance->executions(), 10u);
  bench.end();
}

TEST_F(DefaultAdmission, ACancelledRequestIsAnsweredWhileItsInstanceWaits) {
  admission.begin_closed();
  AdmissionBench bench(2, admission);
  TestRequest& first = bench.enqueue();
  TestRequest& second = bench.enqueue();
  first.cancel();
  bench.host.run_until_idle();
  EXPECT_EQ(first.response().code, Code::kCancelled);
  EXPECT_TRUE(admission.waits(0));
  second.cancel();
  bench.host.run_until_idle();
  EXPECT_EQ(second.response().code, Code::kCancelled);
  EXPECT_FALSE(admission.waits(0) || admission.waits(1)) << "nobody takes resources for nothing";
  bench.end();
}

TEST_F(DefaultAdmission, AnAdmissionThatComesTooLateIsGivenBack) {
  admission.begin_closed();
  AdmissionBench bench(1, admission);
  TestRequest& request = bench.enqueue();
  EXPECT_TRUE(admission.admit_once(0));
  request.cancel();
  bench.host.run_until_idle();
  EXPECT_EQ(request.response().code, Code::kCancelled);
  EXPECT_EQ(admission.counts().unused, 1u);
  EXPECT_EQ(bench.instances[0]->executions(), 0u);
  bench.end();
}

TEST_F(DefaultAdmission, ADeadlineThatPassesMeanwhileIsSeen) {
  admission.begin_closed();
  AdmissionBench bench(1, admission);
  TestRequest& late = bench.add();
  late->times.deadline_ns = bench.host.clock().now_ns() + kNsPerMs;
  ASSERT_TRUE(late.enqueue(*bench.scheduler).ok());
  bench.host.run_for(2 * kNsPerMs);
  admission.open(0);
  bench.host.run_until_idle();
  EXPECT_EQ(late.response().code, Code::kCancelled);
  EXPECT_EQ(bench.instances[0]->executions(), 0u);
  bench.end();
}

TEST_F(DefaultAdmission, WhatIsInLineIsServedAfterStop) {
  admission.begin_closed();
  AdmissionBench bench(1, admission);
  TestRequest& request = bench.enqueue();
  bench.scheduler->stop_accepting();
  bench.host.run_until_idle();
  EXPECT_FALSE(request.done());
  admission.open(0);
  bench.host.run_until_idle();
  EXPECT_EQ(request.response().code, Code::kOk);
  bench.end();
}

/// A model that calls another inside its execution and waits for the answer.
TEST_F(DefaultAdmission, AModelThatIsCalledByOneThatHoldsResourcesDoesNotWait) {
  FakeAdmission callers;
  AdmissionBench caller(1, callers), called(2, admission);
  admission.close(0);
  admission.close(1);
  TestRequest inner("inner");
  caller.behavior.on_execute = [&](const Batch& batch) {
    inner->set_parent(*batch.requests[0]);
    ASSERT_TRUE(inner.enqueue(*called.scheduler).ok());
    called.host.run_until_idle();  // its threads, while this one waits
    EXPECT_TRUE(inner.done());
  };
  caller.enqueue();
  caller.host.run_until_idle();
  EXPECT_EQ(admission.counts().insisted, 1u);
  called.enqueue();
  called.host.run_until_idle();
  EXPECT_FALSE(called.requests[0]->done()) << "others wait as ever";
  admission.open(0);
  called.end();
  caller.end();
}

TEST_F(DefaultAdmission, NorDoThoseBeforeItInTheLine) {
  FakeAdmission callers;
  AdmissionBench caller(1, callers), called(1, admission);
  admission.close(0);
  for (int i = 0; i < 3; ++i) called.enqueue();
  TestRequest inner("inner");
  caller.behavior.on_execute = [&](const Batch& batch) {
    EXPECT_TRUE(admission.waits(0));
    inner->set_parent(*batch.requests[0]);
    ASSERT_TRUE(inner.enqueue(*called.scheduler).ok());
    called.enqueue();
    called.host.run_until_idle();
    EXPECT_TRUE(inner.done());
  };
  caller.enqueue();
  caller.host.run_until_idle();
  EXPECT_EQ(called.instances[0]->executions(), 4u) << "and the one after it waits";
  EXPECT_TRUE(admission.waits(0));
  admission.open(0);
  called.end();
  caller.end();
}

TEST_F(DefaultAdmission, ACallOfACallDoesNotWaitEither) {
  Request outer, middle, inner, free_caller, free_called;
  outer.call_flags |= kHoldsResources;
  middle.set_parent(outer);
  inner.set_parent(middle);
  free_called.set_parent(free_caller);
  EXPECT_EQ(inner.call_flags, kCallerHoldsResources | kIsStep);
  EXPECT_EQ(free_called.call_flags, uint32_t{kIsStep}) << "its caller holds nothing";
  inner.reset();
  EXPECT_EQ(inner.call_flags, 0u);
}

TEST_F(DefaultAdmission, TheSchedulerGoesWhileAnInstanceHasJustBeenAdmitted) {
  admission.begin_closed();
  AdmissionBench bench(2, admission);
  TestRequest& request = bench.enqueue();
  EXPECT_TRUE(admission.admit_once(0));  // its task is on the way
  request.cancel();
  while (!request.done() && bench.host.simulation().step()) {
  }
  bench.scheduler->stop_accepting();
  bench.scheduler.reset();
  EXPECT_FALSE(admission.waits(0) || admission.waits(1));
}

/// Doors open and close at random, requests are cancelled at random.
TEST_F(DefaultAdmission, NothingIsLostWhateverHappens) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    FakeAdmission doors;
    AdmissionBench bench(3, doors, seed % 2 == 0 ? 0 : 100 * kNsPerUs);
    test::Random random(seed);
    for (int i = 0; i < 2000; ++i) {
      size_t door = random.below(3);
      switch (random.below(7)) {
        case 0:
        case 1:
          bench.enqueue();
          break;
        case 2:
          if (!bench.requests.empty()) {
            TestRequest& one = *bench.requests[bench.requests.size() - 1 -
                                               random.below(std::min<size_t>(5, bench.requests.size()))];
            if (!one.done()) one.cancel();
          }
          break;
        case 3:
          doors.close(door);
          break;
        case 4:
          doors.open(door);
          break;
        case 5:
          (void)doors.admit_once(door);
          break;
        default:
          (void)bench.host.simulation().step();
      }
    }
    for (size_t i = 0; i < 3; ++i) doors.open(i);
    bench.end();
  }
}

}  // namespace
}  // namespace atl::schedulers
