/// The part of the suite of "atoll.scheduler/1" that is about what minor 1 adds, for those who operate the server.
#pragma once

#include <string>
#include <utility>

#include "atoll/testing/conformance/scheduler_bench.h"

namespace atl::test {

TEST_P(SchedulerConformance, WhatWaitsIsDescribed) {
  check([&] {
    if (!GetParam().is_operated) return;
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    int64_t queued_ns = 0;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      EXPECT_EQ(bench->scheduler->describe_queue().requests, 0u) << "what is executed does not wait";
      bench->host.fake_clock().advance(kNsPerMs);
      queued_ns = bench->host.clock().now_ns();
      for (int i = 0; i < 70; ++i) {
        EXPECT_TRUE(is_ok(bench->add(3).enqueue(*bench->scheduler)));
        bench->host.fake_clock().advance(kNsPerMs);
      }
      const QueueDescription found = bench->scheduler->describe_queue();
      EXPECT_EQ(found.requests, 70u);
      EXPECT_EQ(found.oldest_ns, queued_ns);
      EXPECT_TRUE(found.waits_for == QueueWait::kInstance || found.waits_for == QueueWait::kSlot);
      EXPECT_GE(found.sampled_requests, 1u);
      EXPECT_LE(found.sampled_requests, QueueDescription::kSampleMax);
      EXPECT_EQ(found.sampled_bytes, found.sampled_requests * 3 * sizeof(int64_t));
      ASSERT_EQ(found.level_count, 1u) << "these requests name no level";
      EXPECT_EQ(found.levels[0].requests, 70u);
      EXPECT_EQ(found.levels[0].oldest_ns, queued_ns);
      EXPECT_FALSE(found.is_draining);
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    const QueueDescription after = bench->scheduler->describe_queue();
    EXPECT_EQ(after.requests, 0u);
    EXPECT_EQ(after.waits_for, QueueWait::kNothing);
  });
}

TEST_P(SchedulerConformance, WhoWaitsForAdmissionSaysSo) {
  check([&] {
    if (!GetParam().is_operated || !GetParam().asks_for_admission) return;
    FakeAdmission admission;
    admission.begin_closed();
    auto bench = make_admitted(admission);
    ASSERT_TRUE(is_ok(bench->created));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    EXPECT_EQ(bench->scheduler->describe_queue().waits_for, QueueWait::kAdmission);
    admission.open(0);
    admission.open(1);
    bench->run();
    bench->expect_all_done();
    EXPECT_EQ(bench->scheduler->describe_queue().waits_for, QueueWait::kNothing);
  });
}

TEST_P(SchedulerConformance, AnOperatorCancelsWhatWaitsAndNothingElse) {
  check([&] {
    if (!GetParam().is_operated) return;
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true, cancelling = false;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      EXPECT_EQ(bench->scheduler->cancel_waiting(0, 100), 0u) << "nothing waits";
      for (int i = 0; i < 10; ++i) {
        TestRequest& request = bench->add();
        request.on_response(
            [&](const ReceivedResponse&) { EXPECT_FALSE(cancelling) << "answered under a lock"; });
        EXPECT_TRUE(is_ok(request.enqueue(*bench->scheduler)));
      }
      cancelling = true;
      EXPECT_EQ(bench->scheduler->cancel_waiting(0, 4), 4u);
      EXPECT_EQ(bench->scheduler->describe_queue().requests, 6u);
      EXPECT_EQ(bench->scheduler->cancel_waiting(9, 100), 0u) << "there is no such level";
      EXPECT_EQ(bench->scheduler->cancel_waiting(0, 100), 6u);
      cancelling = false;
      bench->host.run_ready();
      for (size_t i = 1; i <= 10; ++i)
        EXPECT_TRUE(bench->requests[i]->done()) << i << ": the instance is busy";
      EXPECT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (size_t i = 0; i < bench->requests.size(); ++i) {
      const ReceivedResponse response = bench->requests[i]->response();
      const bool is_cancelled = i >= 1 && i <= 10;
      EXPECT_EQ(response.code, is_cancelled ? Code::kUnavailable : Code::kOk) << i;
      if (!is_cancelled) continue;
      EXPECT_NE(response.message.find("operator"), std::string::npos) << response.message;
    }
    EXPECT_EQ(bench->reporter.all().not_executed[static_cast<size_t>(FailureReason::kCanceled)], 10u);
  });
}

TEST_P(SchedulerConformance, ADrainedQueueServesWhatWaitsAndTakesRequestsAgain) {
  check([&] {
    if (!GetParam().is_operated) return;
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
      EXPECT_TRUE(bench->scheduler->set_draining(true));
      EXPECT_TRUE(bench->scheduler->describe_queue().is_draining);
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (auto& request : bench->requests) EXPECT_EQ(request->response().code, Code::kOk);
    TestRequest late("late");
    bench->fill(late, 1000);
    EXPECT_TRUE(is_failure(late.enqueue(*bench->scheduler), Code::kUnavailable, "drains this model"));
    EXPECT_TRUE(bench->scheduler->set_draining(false));
    EXPECT_FALSE(bench->scheduler->describe_queue().is_draining);
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    // What the server has ended no operator begins again.
    bench->scheduler->stop_accepting();
    EXPECT_TRUE(bench->scheduler->set_draining(false));
    EXPECT_TRUE(is_failure(late.enqueue(*bench->scheduler), Code::kUnavailable, "Server is stopping"));
  });
}

}  // namespace atl::test
