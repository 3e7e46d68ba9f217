/// Conformance of "atoll.scheduler/1": what every scheduler owes its requests, whatever its policy.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "atoll/testing/conformance/operated_scheduler.h"
#include "atoll/testing/conformance/scheduler_bench.h"
#include "atoll/testing/random.h"

namespace atl::test {

/// Rows that a scheduler adds to a batch for sequences that have no request: they have no id.
inline size_t count_of_null_rows(const RecordedBatch& batch) {
  return static_cast<size_t>(std::count(batch.ids.begin(), batch.ids.end(), ""));
}

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
      served += batch.ids.size() - count_of_null_rows(batch);
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

TEST_P(SchedulerConformance, ACancelledRequestIsAnsweredWhileTheInstanceIsBusy) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true, cancelling = false;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
      for (size_t i : {size_t{1}, size_t{3}}) {
        bench->requests[i]->on_response([&](const ReceivedResponse&) {
          EXPECT_FALSE(cancelling) << "answered by the thread that cancels";
        });
        cancelling = true;
        bench->requests[i]->cancel();
        cancelling = false;
      }
      bench->host.run_ready();
      for (size_t i = 1; i < 5; ++i) EXPECT_EQ(bench->requests[i]->done(), i % 2 == 1) << i;
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (size_t i : {size_t{1}, size_t{3}}) {
      EXPECT_EQ(bench->requests[i]->response().code, Code::kCancelled);
      EXPECT_EQ(bench->requests[i]->response().message, "");
    }
  });
}

TEST_P(SchedulerConformance, ARequestPastItsDeadlineIsNotExecuted) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 1; i <= 10; ++i) {
        TestRequest& request = bench->add();
        if (i % 2 == 1) request->times.deadline_ns = bench->host.clock().now_ns() + kNsPerMs;
        EXPECT_TRUE(is_ok(request.enqueue(*bench->scheduler)));
      }
      bench->host.fake_clock().advance(2 * kNsPerMs);
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (size_t i = 0; i < bench->requests.size(); ++i) {
      const Code code = bench->requests[i]->response().code;
      if (i % 2 == 1 && GetParam().sheds_late_requests && code == Code::kUnavailable) continue;
      EXPECT_EQ(code, i % 2 == 1 ? Code::kCancelled : Code::kOk) << i;
    }
    const auto& not_executed = bench->reporter.all().not_executed;
    uint64_t counted = not_executed[static_cast<size_t>(FailureReason::kCanceled)];
    if (GetParam().sheds_late_requests)
      counted += not_executed[static_cast<size_t>(FailureReason::kRejected)];
    EXPECT_EQ(counted, 5u);
  });
}

TEST_P(SchedulerConformance, WithoutAQueuePolicyATimeoutMeansNothing) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 0; i < 10; ++i) {
        TestRequest& request = bench->add();
        request->timeout_us = 1;
        EXPECT_TRUE(is_ok(request.enqueue(*bench->scheduler)));
      }
      bench->host.fake_clock().advance(2 * kNsPerMs);
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (auto& request : bench->requests) EXPECT_EQ(request->response().code, Code::kOk);
  });
}

TEST_P(SchedulerConformance, AQueuePolicysTimeoutEndsTheWait) {
  check([&] {
    if (!GetParam().queue_policies) return;  // the check before this one is theirs
    auto bench = make_with(ConfigBytes::queue_policy());
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      constexpr uint64_t kTimeouts[] = {1000, 1'000'000, 0, 4000};  // us; the policy's own is 5 ms
      for (uint64_t timeout_us : kTimeouts) {
        TestRequest& request = bench->add();
        request->timeout_us = timeout_us;
        EXPECT_TRUE(is_ok(request.enqueue(*bench->scheduler)));
      }
      bench->host.fake_clock().advance(2 * kNsPerMs);
      bench->host.run_ready();
      for (size_t i = 1; i <= 4; ++i) EXPECT_EQ(bench->requests[i]->done(), i == 1) << i;
      bench->host.fake_clock().advance(2500 * kNsPerUs);
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (size_t i : {size_t{1}, size_t{4}}) {
      EXPECT_EQ(bench->requests[i]->response().code, Code::kUnavailable) << i;
      EXPECT_EQ(bench->requests[i]->response().message, "Request timeout expired") << i;
    }
    for (size_t i : {size_t{2}, size_t{3}}) EXPECT_EQ(bench->requests[i]->response().code, Code::kOk) << i;
    EXPECT_EQ(bench->reporter.all().not_executed[static_cast<size_t>(FailureReason::kRejected)], 2u);
  });
}

TEST_P(SchedulerConformance, RequestsOfDifferentShapesShareNoBatch) {
  check([&] {
    auto bench = make(1);
    ASSERT_TRUE(bench->scheduler);
    bool first = true;
    Random random(11);
    std::map<std::string, int64_t> widths = {{"r0", 1}};
    bench->behavior.on_execute = [&](const Batch&) {
      if (!std::exchange(first, false)) return;
      for (int i = 1; i <= 60; ++i) {
        const int64_t width = random.between(1, 2);
        widths[cat("r", i)] = width;
        EXPECT_TRUE(is_ok(bench->add(width).enqueue(*bench->scheduler)));
      }
    };
    ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    for (const RecordedBatch& batch : bench->instances[0]->batches()) {
      const std::string& last = batch.ids.back();
      for (const std::string& id : batch.ids) {
        if (id.empty()) continue;  // a row that nobody has a request for
        EXPECT_EQ(widths[id], widths[last]) << id;
      }
    }
    for (auto& request : bench->requests) EXPECT_EQ(request->response().code, Code::kOk);
  });
}

TEST_P(SchedulerConformance, ExecutionsAreAdmittedOrTheModelIsRefused) {
  check([&] {
    FakeAdmission admission;
    admission.begin_closed();
    auto bench = make_admitted(admission);
    if (!GetParam().asks_for_admission) {
      EXPECT_TRUE(is_failure(bench->created, Code::kUnimplemented));
      return;
    }
    ASSERT_TRUE(is_ok(bench->created));
    bench->behavior.on_execute = [&](const Batch& batch) {
      EXPECT_TRUE(admission.is_admitted(0) || admission.is_admitted(1));
      for (const Request* request : batch.requests) EXPECT_TRUE((request->call_flags & kHoldsResources) != 0);
    };
    const auto executions = [&](size_t i) { return bench->instances[i]->executions(); };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    EXPECT_EQ(executions(0) + executions(1), 0u) << "nothing was admitted";
    admission.open(1);
    bench->run();
    EXPECT_EQ(executions(0), 0u) << "only the other one was admitted";
    EXPECT_GT(executions(1), 0u);
    if (GetParam().binds_to_instances) admission.open(0);
    bench->run();
    bench->expect_all_done();

    admission.close(1);
    TestRequest& nested = bench->add();
    nested->call_flags |= kCallerHoldsResources | kIsStep;
    ASSERT_TRUE(is_ok(nested.enqueue(*bench->scheduler)));
    bench->run();
    EXPECT_TRUE(nested.done()) << "its caller holds what it would wait for";
    admission.open(0);
    admission.open(1);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    bench->run();
    bench->expect_all_done();
    EXPECT_EQ(admission.counts().executed, executions(0) + executions(1));
    for (size_t i : {size_t{0}, size_t{1}}) EXPECT_FALSE(admission.waits(i) || admission.is_admitted(i)) << i;
    for (const std::string& problem : admission.problems()) ADD_FAILURE() << problem;
  });
}

TEST_P(SchedulerConformance, NoInstanceGetsMoreThanItHasRoomFor) {
  check([&] {
    if (!GetParam().keeps_to_room) return;
    const uint32_t capacity = std::max(1u, GetParam().max_batch_size) + 1;
    auto bench = make_with_room(capacity);
    ASSERT_TRUE(bench->scheduler);
    bench->behavior.answer_later = true;
    FakeInstance& instance = *bench->instances[0];
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(is_ok(bench->add().enqueue(*bench->scheduler)));
    for (bench->run(); instance.held() != 0; bench->run()) {
      EXPECT_EQ(instance.overfills(), 0u);
      (void)instance.answer_held(1);
    }
    bench->expect_all_done();
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
