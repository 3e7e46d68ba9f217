// The dynamic scheduler in virtual time: what is in which batch, and when it goes.
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

/// Instances never run on a request's thread, so that the test decides when they start.
class DynamicBench : public SchedulerBench {
 public:
  explicit DynamicBench(const std::string& batching, uint32_t instance_count = 1,
                        DynamicSettings settings = heavy(), uint32_t max_batch_size = 8)
      : SchedulerBench(
            instance_count,
            [&settings](test::FakeHost& fake) {
              return std::make_shared<DynamicProvider>(settings, fake.log());
            },
            config_bytes(cat("max_batch_size: ", max_batch_size, " ", batching)), max_batch_size) {}
  static DynamicSettings heavy() {
    DynamicSettings settings;
    settings.dispatcher.light_execution_ns = 0;
    return settings;
  }

  TestRequest& make(uint32_t size = 1, int64_t dim = 1) {
    requests.push_back(std::make_unique<TestRequest>(cat("r", requests.size())));
    TestRequest& request = *requests.back();
    request->batch_size = size;
    request.add_input<float>("INPUT0", DataType::kFp32, {size, dim},
                             std::vector<float>(static_cast<size_t>(size * dim)));
    return request;
  }
  Status try_send(TestRequest& request) { return request.enqueue(*scheduler); }
  TestRequest& send(uint32_t size = 1, int64_t dim = 1) {
    TestRequest& request = make(size, dim);
    Status status = try_send(request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  /// While an instance executes, the rest of the world goes on for `busy_ns`.
  void be_busy(int64_t busy_ns) {
    behavior.on_execute = [this, busy_ns](const Batch&) { host.run_for(busy_ns); };
  }
  std::vector<Ids> batches(size_t instance = 0) const {
    std::vector<Ids> all;
    for (const auto& batch : instances[instance]->batches()) all.push_back(batch.ids);
    return all;
  }
  int64_t now() { return host.clock().now_ns(); }
  void end() {
    host.run_until_idle();
    expect_all_done();
  }
};

constexpr char kEight[] = "dynamic_batching { preferred_batch_size: 8 }";
constexpr char kDelayed[] = "dynamic_batching { preferred_batch_size: 4 max_queue_delay_microseconds: 1000 }";

TEST(DynamicScheduler, WhatComesDuringAnExecutionIsTheNextBatch) {
  DynamicBench bench(kEight);
  bench.behavior.on_execute = [&](const Batch&) {
    if (bench.requests.size() == 1) {
      for (int i = 0; i < 5; ++i) bench.send();
    }
  };
  bench.send();
  bench.end();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0"}, {"r1", "r2", "r3", "r4", "r5"}}));
  EXPECT_EQ(bench.reporter.batches(), (std::vector<uint32_t>{1, 5}));
}

TEST(DynamicScheduler, TheBatchThatFormsIsDescribed) {
  DynamicBench bench(kDelayed);
  const int64_t start = bench.now();
  bench.send(2);
  bench.host.run_for(200'000);
  bench.send();
  const QueueDescription found = bench.scheduler->describe_queue();
  EXPECT_EQ(found.waits_for, QueueWait::kBatch);
  EXPECT_EQ(found.batch_requests, 2u);
  EXPECT_EQ(found.batch_size, 3u);
  EXPECT_EQ(found.batch_size_max, 8u);
  EXPECT_EQ(found.batch_goes_ns, start + 1'000'000);
  // Without a new request it goes at once when nobody can join it, and waits again later.
  EXPECT_TRUE(bench.scheduler->set_draining(true));
  bench.host.run_ready();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0", "r1"}}));
  EXPECT_TRUE(bench.scheduler->set_draining(false));
  bench.send();
  bench.host.run_ready();
  EXPECT_EQ(bench.scheduler->describe_queue().waits_for, QueueWait::kBatch);
  EXPECT_EQ(bench.scheduler->cancel_waiting(0, 1), 1u);
  bench.end();
  EXPECT_EQ(bench.batches().size(), 1u);
}

TEST(DynamicScheduler, OneLevelIsCancelled) {
  DynamicBench bench("dynamic_batching { priority_levels: 3 default_priority_level: 2 }");
  bench.behavior.on_execute = [&](const Batch&) {
    if (bench.requests.size() > 1) return;
    for (uint64_t priority : {1, 2, 3, 3, 1}) {
      TestRequest& request = bench.make();
      request->priority = priority;
      EXPECT_TRUE(bench.try_send(request).ok());
    }
    EXPECT_EQ(bench.scheduler->describe_queue().level_count, 3u);
    EXPECT_EQ(bench.scheduler->cancel_waiting(3, 100), 2u);
    EXPECT_EQ(bench.scheduler->describe_queue().requests, 3u);
  };
  bench.send();
  bench.end();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0"}, {"r1", "r5", "r2"}}));
}

TEST(DynamicScheduler, ABatchGoesAtAPreferredSizeAtOnce) {
  DynamicBench bench(kDelayed);
  int64_t start = bench.now();
  for (int i = 0; i < 4; ++i) bench.send();
  bench.host.run_ready();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0", "r1", "r2", "r3"}}));
  EXPECT_EQ(bench.now(), start);
  bench.end();
}

TEST(DynamicScheduler, ABatchGoesWhenTheDelayOfItsOldestEnds) {
  DynamicBench bench(kDelayed);
  int64_t start = bench.now();
  bench.send();
  bench.host.run_for(600 * kNsPerUs);
  bench.send();
  bench.host.run_for(399 * kNsPerUs);
  EXPECT_TRUE(bench.batches().empty());
  bench.end();
  ASSERT_EQ(bench.batches(), (std::vector<Ids>{{"r0", "r1"}}));
  EXPECT_EQ(bench.instances[0]->batches()[0].at_ns, start + kNsPerMs);
}

TEST(DynamicScheduler, AnIdleInstanceDoesNotWaitWithoutADelay) {
  DynamicBench bench(kEight, 2);
  bench.send();
  bench.send();
  bench.host.run_ready();
  EXPECT_EQ(bench.batches(0).size() + bench.batches(1).size(), 2u);
  bench.end();
}

TEST(DynamicScheduler, BatchesOfOtherShapesAreOnOtherInstancesAtTheSameTime) {
  DynamicBench bench(cat(kDelayed, " input { name: 'INPUT0' data_type: TYPE_FP32 dims: -1 }"), 2);
  bench.send(1, 3);
  bench.send(1, 3);
  bench.send(3, 4);  // another shape: the first two go; this is not yet a preferred size
  bench.host.run_ready();
  EXPECT_EQ(bench.batches(0).size() + bench.batches(1).size(), 1u);
  bench.send(1, 4);
  bench.host.run_ready();
  EXPECT_EQ(bench.batches(0).size() + bench.batches(1).size(), 2u);
  bench.end();
}

TEST(DynamicScheduler, RaggedInputsAreBatched) {
  DynamicBench bench(
      cat(kDelayed, " input { name: 'INPUT0' data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }"));
  for (int i = 1; i <= 4; ++i) bench.send(1, i);
  bench.end();
  EXPECT_EQ(bench.batches().size(), 1u);
}

TEST(DynamicScheduler, RequestsThatCarryABatchAreNeverSplit) {
  DynamicBench bench(kDelayed);
  bench.send(3);
  bench.send(3);  // 6 > 4: the best is the first alone
  bench.send(8);
  bench.host.run_ready();
  bench.end();
  std::vector<uint32_t> sizes;
  for (const auto& batch : bench.instances[0]->batches()) sizes.push_back(batch.total_batch_size);
  EXPECT_EQ(sizes, (std::vector<uint32_t>{3, 3, 8}));
}

TEST(DynamicScheduler, ARejectTimeoutEndsWhileTheInstanceIsBusy) {
  DynamicBench bench("dynamic_batching { default_queue_policy { default_timeout_microseconds: 100000 } }");
  bench.be_busy(500 * kNsPerMs);
  bench.send();
  TestRequest& late = bench.make();
  int64_t answered_ns = 0;
  late.on_response([&](const auto&) { answered_ns = bench.now(); });
  int64_t start = bench.now();
  EXPECT_TRUE(bench.try_send(late).ok());
  bench.end();
  EXPECT_EQ(late.response().code, Code::kUnavailable);
  EXPECT_EQ(late.response().message, "Request timeout expired");
  EXPECT_GT(answered_ns, start + 100 * kNsPerMs);
  EXPECT_LE(answered_ns, start + 110 * kNsPerMs);
  EXPECT_EQ(bench.reporter.of("r1").not_executed[static_cast<size_t>(FailureReason::kRejected)], 1u);
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0"}}));
}

TEST(DynamicScheduler, ARequestMayShortenItsTimeoutWhereItIsAllowedTo) {
  for (bool allowed : {true, false}) {
    DynamicBench bench(
        cat("dynamic_batching { default_queue_policy { default_timeout_microseconds: 100000 "
            "allow_timeout_override: ",
            allowed ? "true" : "false", " } }"));
    bench.be_busy(50 * kNsPerMs);
    bench.send();
    TestRequest& shorter = bench.make();
    shorter->timeout_us = 10'000;
    EXPECT_TRUE(bench.try_send(shorter).ok());
    TestRequest& longer = bench.make();
    longer->timeout_us = 1'000'000;
    EXPECT_TRUE(bench.try_send(longer).ok());
    bench.end();
    EXPECT_EQ(shorter.response().code, allowed ? Code::kUnavailable : Code::kOk);
    EXPECT_EQ(longer.response().code, Code::kOk);
  }
}

TEST(DynamicScheduler, ADelayTimeoutMovesARequestBack) {
  DynamicBench bench(
      "dynamic_batching { preferred_batch_size: 1 default_queue_policy { timeout_action: DELAY "
      "default_timeout_microseconds: 100000 allow_timeout_override: true } }");
  bool first = true;
  bench.behavior.on_execute = [&](const Batch&) {
    if (!std::exchange(first, false)) return;
    TestRequest& impatient = bench.make();
    impatient->timeout_us = 1000;
    EXPECT_TRUE(bench.try_send(impatient).ok());
    bench.send();
    bench.host.run_for(50 * kNsPerMs);
    bench.send();  // comes after the timeout, and still goes first
  };
  bench.send();
  bench.end();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0"}, {"r2"}, {"r3"}, {"r1"}}));
}

TEST(DynamicScheduler, LevelsAreServedInOrder) {
  DynamicBench bench(
      "dynamic_batching { preferred_batch_size: 2 priority_levels: 3 default_priority_level: 2 }");
  bool first = true;
  bench.behavior.on_execute = [&](const Batch&) {
    if (!std::exchange(first, false)) return;
    for (uint64_t priority : {3, 0, 1, 99, 1}) {
      TestRequest& request = bench.make();
      request->priority = priority;
      EXPECT_TRUE(bench.try_send(request).ok());
    }
  };
  bench.send();
  bench.end();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0"}, {"r3", "r5"}, {"r2", "r4"}, {"r1"}}));
}

TEST(DynamicScheduler, AFullQueueRefusesAndACancellationMakesRoomAtOnce) {
  DynamicBench bench("dynamic_batching { default_queue_policy { max_queue_size: 2 } }");
  bool first = true;
  bench.behavior.on_execute = [&](const Batch&) {
    if (!std::exchange(first, false)) return;
    TestRequest& waiting = bench.send();
    bench.send();
    Status status = bench.try_send(bench.make());
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.message(), "[request id: r3] Exceeds maximum queue size");
    bench.requests.pop_back();
    waiting.cancel();
    bench.send();
  };
  bench.send();
  bench.end();
  EXPECT_EQ(bench.requests[1]->response().code, Code::kCancelled);
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0"}, {"r2", "r3"}}));
}

TEST(DynamicScheduler, TheOperatorsLimitIsForAllLevelsTogether) {
  DynamicSettings settings = DynamicBench::heavy();
  settings.queue_size_max = 1;
  DynamicBench bench("dynamic_batching { priority_levels: 2 default_priority_level: 1 }", 1, settings);
  bench.send();
  bench.send();
  TestRequest refused;
  refused->priority = 2;
  EXPECT_EQ(refused.enqueue(*bench.scheduler).code(), Code::kUnavailable);
  bench.end();
}

TEST(DynamicScheduler, ResponsesKeepTheOrderOfTheirRequestsIfThatIsAsked) {
  for (bool ordered : {false, true}) {
    DynamicBench bench(cat("dynamic_batching { preserve_ordering: ", ordered ? "true" : "false", " }"), 2);
    Ids answered;
    auto send_next = [&] {
      TestRequest& request = bench.make();
      request.on_response(
          [&answered, id = cat("r", bench.requests.size() - 1)](const auto&) { answered.push_back(id); });
      EXPECT_TRUE(bench.try_send(request).ok());
    };
    bench.behavior.on_execute = [&](const Batch&) {
      if (bench.requests.size() != 1) return;
      send_next();  // the other instance is done with it before this one is with the first
      bench.host.run_ready();
      EXPECT_EQ(answered, ordered ? Ids{} : Ids{"r1"});
    };
    send_next();
    bench.host.run_ready();
    EXPECT_EQ(answered, ordered ? (Ids{"r0", "r1"}) : (Ids{"r1", "r0"}));
    bench.end();
  }
}

TEST(DynamicScheduler, WhatWaitsIsServedAtOnceWhenTheModelGoes) {
  DynamicBench bench("dynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 60000000 }");
  int64_t start = bench.now();
  bench.send();
  bench.send();
  bench.host.run_ready();
  EXPECT_TRUE(bench.batches().empty());
  bench.scheduler->stop_accepting();
  bench.host.run_ready();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0", "r1"}}));
  EXPECT_EQ(bench.now(), start);
  TestRequest late("late");
  EXPECT_EQ(late.enqueue(*bench.scheduler).message(),
            "[request id: late] Server is stopping, scheduler for model has stopped accepting new inference "
            "requests");
  bench.end();
}

TEST(DynamicScheduler, ManyArrivalsCanBeHeldForTests) {
  DynamicSettings settings = DynamicBench::heavy();
  settings.hold_until = 3;
  DynamicBench bench(kEight, 1, settings);
  bench.send();
  bench.send();
  bench.host.run_until_idle();
  EXPECT_TRUE(bench.batches().empty());
  bench.send();
  bench.host.run_until_idle();
  EXPECT_EQ(bench.batches(), (std::vector<Ids>{{"r0", "r1", "r2"}}));
  bench.send();
  bench.end();
  EXPECT_EQ(bench.batches().size(), 2u) << "only once";
}

TEST(DynamicScheduler, AModelThatDoesNotBatchGetsOneRequestAtATime) {
  DynamicBench bench("dynamic_batching { max_queue_delay_microseconds: 1000 }", 1, DynamicBench::heavy(), 0);
  for (int i = 0; i < 3; ++i) {
    TestRequest& request = bench.make();
    request->batch_size = 0;
    EXPECT_TRUE(bench.try_send(request).ok());
  }
  bench.end();
  EXPECT_EQ(bench.batches().size(), 3u);
}

TEST(DynamicScheduler, ALightModelRunsWhereTheBatchIsCompleted) {
  DynamicSettings settings;
  DynamicBench bench(kDelayed, 1, settings);
  bench.behavior.busy_ns = 10 * kNsPerUs;
  for (uint32_t i = 0; i < 4 * ExecutionTime::kSamplesMin; ++i) bench.send();
  bench.host.run_until_idle();
  for (int i = 0; i < 3; ++i) bench.send();
  EXPECT_FALSE(bench.requests.back()->done());
  EXPECT_TRUE(bench.send().done()) << "without another thread";
  bench.end();
}

constexpr char kTenMs[] =
    "dynamic_batching { } parameters { key: 'latency_target_microseconds' value { string_value: '10000' } }";

/// How many of 400 requests, which come at a time, the target refuses.
size_t refused_of_400(DynamicBench& bench) {
  size_t refused = 0;
  for (int i = 0; i < 400; ++i) {
    TestRequest& request = bench.make();
    Status status = bench.try_send(request);
    if (status.ok()) continue;
    ++refused;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_NE(status.message().find("could not be answered in time (latency target 10000 us)"),
              std::string::npos);
    bench.requests.pop_back();
  }
  return refused;
}

TEST(DynamicScheduler, OverloadIsShedByTheLatencyTarget) {
  DynamicBench bench(kTenMs);
  bench.be_busy(2 * kNsPerMs);
  for (int i = 0; i < 20; ++i) {
    bench.send();
    bench.host.run_until_idle();
  }
  const size_t refused = refused_of_400(bench);
  EXPECT_GT(refused, 300u);
  EXPECT_LT(refused, 400u);
  bench.end();
}

TEST(DynamicScheduler, ExecutionsThatWereCancelledTeachTheLatencyTargetNothing) {
  DynamicBench bench(kTenMs);
  for (int i = 0; i < 220; ++i) {
    bench.be_busy(2 * kNsPerMs);
    if (i >= 20) bench.behavior.on_execute = [&](const Batch&) { bench.requests.back()->cancel(); };
    bench.send();
    bench.host.run_until_idle();
  }
  bench.be_busy(2 * kNsPerMs);
  EXPECT_GT(refused_of_400(bench), 300u);
  bench.end();
}

}  // namespace
}  // namespace atl::schedulers
