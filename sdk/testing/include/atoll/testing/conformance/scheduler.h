/// Conformance of "atoll.scheduler/1": what every scheduler owes its requests, whatever its policy.
#pragma once

#include <thread>

#include "atoll/testing/conformance/scheduler_bench.h"
#include "atoll/testing/random.h"

namespace atl::test {

TEST_P(SchedulerConformance, EveryRequestGetsItsOwnAnswerOnce) {
  check([&] {
    auto bench = make(2);
    ASSERT_TRUE(bench->scheduler);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (uint64_t n = 0; n < 100; ++n) EXPECT_TRUE(has_own_data(*bench->requests[n], n)) << n;
    EXPECT_EQ(bench->reporter.all().succeeded, 100u);
  });
}

TEST_P(SchedulerConformance, BatchesKeepTheMaximumAndSayTheirSize) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    size_t served = 0;
    for (const RecordedBatch& batch : bench->instances[0]->batches()) {
      EXPECT_EQ(batch.total_batch_size, batch.ids.size()) << "every request here weighs 1";
      EXPECT_LE(batch.ids.size(), std::max(1u, GetParam().max_batch_size));
      served += batch.ids.size();
    }
    EXPECT_EQ(served, 50u);
  });
}

TEST_P(SchedulerConformance, AFailedExecutionAnswersItsRequests) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bench->behavior.fail_executes = 1;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    uint64_t failed = 0;
    for (auto& request : bench->requests) failed += request->response().code == Code::kInternal;
    EXPECT_GE(failed, 1u);
    EXPECT_LE(failed, std::max(1u, GetParam().max_batch_size)) << "one batch failed, the others ran";
  });
}

TEST_P(SchedulerConformance, ABusyInstanceIsNotEnteredAgain) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    EXPECT_EQ(bench->requests.size(), 11u);
    bench->expect_all_done();
  });
}

TEST_P(SchedulerConformance, ACancelledQueuedRequestIsNotExecuted) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
      for (size_t i = 1; i < bench->requests.size(); i += 2) bench->requests[i]->cancel();
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (size_t i = 0; i < bench->requests.size(); ++i) {
      Code expected = i % 2 == 1 ? Code::kCancelled : Code::kOk;
      EXPECT_EQ(bench->requests[i]->response().code, expected) << i;
    }
    EXPECT_EQ(bench->reporter.all().not_executed[static_cast<size_t>(FailureReason::kCanceled)], 5u);
  });
}

TEST_P(SchedulerConformance, StopAcceptingRefusesTheNewAndServesTheQueued) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bench->behavior.on_execute = [&](const Batch&) {
      if (bench->requests.size() > 1) return;
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
      EXPECT_GE(bench->scheduler->in_flight(), 5u);
      bench->scheduler->stop_accepting();
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (auto& request : bench->requests) EXPECT_EQ(request->response().code, Code::kOk);
    TestRequest late("late");
    bench->fill(late, 1000);
    EXPECT_TRUE(is_failure(late.enqueue(*bench->scheduler), Code::kUnavailable,
                           "stopped accepting new inference requests"));
    bench->run();
    EXPECT_FALSE(late.got_final() || late.got_release()) << "a refused request belongs to the caller";
    EXPECT_EQ(bench->scheduler->in_flight(), 0u);
  });
}

TEST_P(SchedulerConformance, AnAnswerMayBringTheNextRequest) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    std::function<void()> next = [&] {
      if (bench->requests.size() == 200) return;
      TestRequest& request = bench->add();
      request.on_response([&](const ReceivedResponse&) { next(); });
      EXPECT_TRUE(is_ok(request.enqueue(*bench->scheduler)));
    };
    next();
    bench->run();
    EXPECT_EQ(bench->requests.size(), 200u);
    bench->expect_all_done();
  });
}

TEST_P(SchedulerConformance, SeededSimulation) {
  check([&] {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(cat("seed ", seed));
      auto bench = make(1 + seed % 3, FakeHost::Threads::kSimulated, seed);
      ASSERT_TRUE(bench->scheduler);
      Random random(seed * 7919);
      bench->behavior.busy_ns = random.between(0, 2 * kNsPerMs);
      auto client = bench->host.executors().create("client", {}).value();
      for (int i = 0; i < 200; ++i) {
        int64_t at = bench->host.clock().now_ns() + random.between(0, 50 * kNsPerMs);
        TestRequest* request = &bench->add();
        bool fails = random.chance(3);
        (void)client->post_at(at, make_task([&bench, request, fails] {
                                if (fails) bench->behavior.fail_executes = 1;
                                EXPECT_TRUE(is_ok(request->enqueue(*bench->scheduler)));
                              }));
        if (random.chance(10))
          (void)client->post_at(at + random.between(0, 5 * kNsPerMs),
                                make_task([request] { request->cancel(); }));
      }
      bench->run();
      bench->expect_all_done();
      if (HasFailure()) return;
    }
  });
}

TEST_P(SchedulerConformance, RealThreads) {
  check([&] {
    constexpr uint64_t kProducers = 4, kEach = 200;
    auto bench = make(2, FakeHost::Threads::kReal);
    ASSERT_TRUE(bench->scheduler);
    for (uint64_t i = 0; i < kProducers * kEach; ++i) bench->add();
    std::vector<std::thread> producers;
    for (uint64_t p = 0; p < kProducers; ++p) {
      producers.emplace_back([&, p] {
        Random random(p + 1);
        for (uint64_t i = p * kEach; i < (p + 1) * kEach; ++i) {
          EXPECT_TRUE(is_ok(bench->requests[i]->enqueue(*bench->scheduler)));
          if (random.chance(10)) bench->requests[i]->cancel();
        }
      });
    }
    for (std::thread& producer : producers) producer.join();
    for (auto& request : bench->requests) ASSERT_TRUE(request->wait_done());
    bench->scheduler->stop_accepting();
    while (bench->scheduler->in_flight() != 0) std::this_thread::yield();
    bench->expect_all_done();
  });
}

}  // namespace atl::test
