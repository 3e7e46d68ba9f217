// The dynamic scheduler where executions have to be admitted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/common/testing/scheduler_bench.h"
#include "schedulers/dynamic/dynamic_provider.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;
using Ids = std::vector<std::string>;

class DynamicAdmission : public ::testing::Test {
 protected:
  void start(const std::string& batching, uint32_t instance_count = 1) {
    bench = std::make_unique<SchedulerBench>(
        instance_count,
        [](test::FakeHost& fake) {
          DynamicSettings settings;
          settings.dispatcher.light_execution_ns = 0;
          return std::make_shared<DynamicProvider>(settings, fake.log());
        },
        config_bytes(cat("max_batch_size: 8 ", batching)), 8, &admission);
  }
  TestRequest& send() {
    TestRequest& request = bench->add();
    request->batch_size = 1;
    Status status = request.enqueue(*bench->scheduler);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  std::vector<Ids> batches() const {
    std::vector<Ids> all;
    for (const auto& batch : bench->instances[0]->batches()) all.push_back(batch.ids);
    return all;
  }
  void end() {
    bench->host.run_until_idle();
    bench->expect_all_done();
    bench->scheduler.reset();
    for (const std::string& problem : admission.problems()) ADD_FAILURE() << problem;
  }

  test::FakeAdmission admission;
  std::unique_ptr<SchedulerBench> bench;
};

TEST_F(DynamicAdmission, ABatchIsMadeWhenItIsAdmitted) {
  admission.begin_closed();
  start("dynamic_batching { }");
  send();
  bench->host.run_until_idle();
  for (int i = 0; i < 4; ++i) send();
  EXPECT_TRUE(admission.admit_once(0));
  send();  // before the instance's thread has come to it
  bench->host.run_until_idle();
  EXPECT_EQ(batches(), (std::vector<Ids>{{"r0", "r1", "r2", "r3", "r4", "r5"}}));
  end();
}

TEST_F(DynamicAdmission, AdmissionThatFollowsTheQueueSaysHowLargeABatchMayBe) {
  admission.follow_queues({2, 0});
  admission.begin_closed();
  start("dynamic_batching { }");
  for (int i = 0; i < 5; ++i) send();
  admission.open(0);
  bench->host.run_until_idle();
  EXPECT_EQ(batches(), (std::vector<Ids>{{"r0", "r1"}, {"r2", "r3"}, {"r4"}}));
  const Ids told = {"arrived 1", "arrived 1",        "arrived 1",        "arrived 1",
                    "arrived 1", "begins 2, 3 wait", "begins 2, 1 wait", "begins 1, 0 wait"};
  EXPECT_EQ(admission.told(), told);
  end();
}

TEST_F(DynamicAdmission, AdmissionThatFollowsTheQueueIsToldWhoLeft) {
  admission.follow_queues({8, 0});
  admission.begin_closed();
  start("dynamic_batching { }");
  TestRequest& cancelled = send();
  send();
  cancelled.cancel();
  EXPECT_EQ(admission.told(), (Ids{"arrived 1", "arrived 1", "left 1"}));
  admission.open(0);
  end();
}

TEST_F(DynamicAdmission, WhoIsLateByTheAdmissionsWordIsRefused) {
  admission.follow_queues({8, 0});
  admission.begin_closed();
  start(
      "dynamic_batching { } parameters { key: 'latency_target_microseconds' value { string_value: '1000' } }");
  TestRequest& late = send();
  bench->host.run_for(500 * kNsPerUs);
  TestRequest& in_time = send();
  admission.grant({8, bench->host.clock().now_ns() + 900 * kNsPerUs});
  admission.open(0);
  bench->host.run_until_idle();
  EXPECT_EQ(late.response().code, Code::kUnavailable);
  EXPECT_EQ(in_time.response().code, Code::kOk);
  EXPECT_EQ(batches(), (std::vector<Ids>{{"r1"}}));
  end();
}

TEST_F(DynamicAdmission, ARequestTimesOutWhileItsInstanceWaits) {
  admission.begin_closed();
  start(
      "dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 1000 } "
      "}");
  TestRequest& request = send();
  bench->host.run_for(999 * kNsPerUs);
  EXPECT_FALSE(request.done());
  bench->host.run_for(2 * kNsPerUs);
  EXPECT_EQ(request.response().code, Code::kUnavailable);
  EXPECT_EQ(request.response().message, "Request timeout expired");
  EXPECT_FALSE(admission.waits(0)) << "there is nothing left to wait for";
  admission.open(0);
  end();
  EXPECT_TRUE(batches().empty());
}

TEST_F(DynamicAdmission, TheQueueHasAnEndMeanwhile) {
  admission.begin_closed();
  start("dynamic_batching { default_queue_policy { max_queue_size: 2 } }");
  send();
  send();
  TestRequest third("third");
  EXPECT_EQ(third.enqueue(*bench->scheduler).code(), Code::kUnavailable);
  admission.open(0);
  end();
}

TEST_F(DynamicAdmission, NobodyAsksBeforeABatchIsDue) {
  start("dynamic_batching { preferred_batch_size: 4 max_queue_delay_microseconds: 1000 }");
  send();
  send();
  bench->host.run_for(500 * kNsPerUs);
  EXPECT_EQ(admission.counts().asked, 0u);
  bench->host.run_for(600 * kNsPerUs);
  EXPECT_EQ(admission.counts().asked, 1u);
  EXPECT_EQ(batches(), (std::vector<Ids>{{"r0", "r1"}}));
  end();
}

TEST_F(DynamicAdmission, PriorityLevelsHoldWhileAnInstanceWaits) {
  admission.begin_closed();
  start("dynamic_batching { priority_levels: 2 default_priority_level: 2 preferred_batch_size: 1 }");
  send();
  TestRequest& urgent = bench->add();
  urgent->batch_size = 1;
  urgent->priority = 1;
  ASSERT_TRUE(urgent.enqueue(*bench->scheduler).ok());
  admission.open(0);
  bench->host.run_until_idle();
  ASSERT_FALSE(batches().empty());
  EXPECT_EQ(batches()[0][0], "r1");
  end();
}

}  // namespace
}  // namespace atl::schedulers
