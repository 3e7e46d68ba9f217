#include "admission/quotas/request_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "admission/quotas/settings.h"
#include "admission/quotas/testing/gate_bench.h"
#include "atoll/testing/fake_options.h"
#include "atoll/testing/recorded_metrics.h"

namespace atl::quotas {
namespace {

using State = GatedRequest::State;
using ::testing::ElementsAre;

AdmissionSettings one_at_a_time() { return settings_with({"a:concurrency=1"}); }

TEST(RequestGate, AWaitingRequestIsResumedWhenOneEnds) {
  GateBench bench(one_at_a_time());
  ASSERT_TRUE(bench.started.ok());
  GatedRequest& first = bench.send("a");
  GatedRequest& second = bench.send("a");
  EXPECT_EQ(first.state, State::kRuns);
  bench.host.run_ready();
  EXPECT_EQ(second.state, State::kWaits);
  first.end();
  EXPECT_EQ(second.state, State::kWaits) << "not on the thread of the one that ended";
  bench.host.run_ready();
  EXPECT_EQ(second.state, State::kRuns);
  EXPECT_TRUE(second.status.ok());
  second.end();
  EXPECT_EQ(bench.gate.in_flight(), 0U);
}

TEST(RequestGate, RequestsOfATenantKeepTheirOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    GateBench bench(settings_with({"a:concurrency=5"}), seed);
    for (int i = 0; i < 50; ++i) bench.send("a");
    for (int i = 0; i < 5; ++i) bench.requests[static_cast<size_t>(i)]->end();
    bench.host.run_ready();
    for (size_t i = 5; i < 10; ++i) ASSERT_EQ(bench.requests[i]->state, State::kRuns);
    for (size_t i = 6; i < 10; ++i) EXPECT_LT(bench.requests[i - 1]->order, bench.requests[i]->order);
    for (size_t i = 5; i < 50; ++i) {
      bench.host.run_ready();
      bench.requests[i]->end();
    }
  }
}

TEST(RequestGate, CancellingEndsTheWait) {
  GateBench bench(one_at_a_time());
  GatedRequest& first = bench.send("a");
  GatedRequest& second = bench.send("a");
  second.made.cancel();
  second.made.cancel();
  bench.host.run_ready();
  EXPECT_EQ(second.state, State::kAnswered);
  EXPECT_EQ(second.status.code(), Code::kCancelled);
  EXPECT_EQ(second.status.message(), "");
  first.end();
  bench.host.run_ready();
  EXPECT_EQ(second.resumes, 1U);
}

TEST(RequestGate, ACancelledRequestIsNotAdmitted) {
  GateBench bench(one_at_a_time());
  bench.requests.push_back(std::make_unique<GatedRequest>("a"));
  GatedRequest& request = *bench.requests.back();
  request.made.cancel();
  request.ask(bench.gate);
  EXPECT_EQ(request.status.code(), Code::kCancelled);
  EXPECT_EQ(bench.gate.in_flight(), 0U);
}

TEST(RequestGate, CancellingLaterDoesNotConcernTheGate) {
  GateBench bench(one_at_a_time());
  GatedRequest& first = bench.send("a");
  GatedRequest& second = bench.send("a");
  first.made.cancel();
  first.end();
  second.made.cancel();  // has its turn, and has not been told
  bench.host.run_ready();
  EXPECT_EQ(second.state, State::kRuns) << "whoever runs it looks at the flag";
  second.end();
}

TEST(RequestGate, ADeadlineEndsTheWait) {
  GateBench bench(one_at_a_time());
  bench.send("a");
  bench.requests.push_back(std::make_unique<GatedRequest>("a", "7"));
  GatedRequest& request = *bench.requests.back();
  request.made->times.deadline_ns = bench.host.clock().now_ns() + 20 * kNsPerMs;
  request.ask(bench.gate);
  bench.host.run_for(19 * kNsPerMs);
  EXPECT_EQ(request.state, State::kWaits);
  bench.host.run_for(kNsPerMs);
  EXPECT_EQ(request.state, State::kAnswered);
  EXPECT_EQ(request.status.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(request.status.message(), "[request id: 7] its deadline came before its turn");
  EXPECT_EQ(request.made->retry_after_ms, 0U);
}

TEST(RequestGate, SoDoesTheTimeoutOfTheRequest) {
  GateBench bench(one_at_a_time());
  bench.send("a");
  for (uint64_t timeout_us : {uint64_t{5000}, uint64_t{8000}, UINT64_MAX}) {
    bench.requests.push_back(std::make_unique<GatedRequest>("a"));
    bench.requests.back()->made->timeout_us = timeout_us;
    bench.requests.back()->made->times.deadline_ns = bench.host.clock().now_ns() + 7 * kNsPerMs;
    bench.requests.back()->ask(bench.gate);
  }
  bench.host.run_for(5 * kNsPerMs);
  EXPECT_EQ(bench.requests[1]->state, State::kAnswered);
  EXPECT_EQ(bench.requests[2]->state, State::kWaits);
  bench.host.run_for(2 * kNsPerMs);
  EXPECT_EQ(bench.requests[2]->state, State::kAnswered);
  EXPECT_EQ(bench.requests[3]->state, State::kAnswered);
}

TEST(RequestGate, TheTimerFollowsTheEarliest) {
  GateBench bench(one_at_a_time());
  bench.send("a");
  for (int ms : {50, 30, 40, 10, 20}) {
    bench.requests.push_back(std::make_unique<GatedRequest>("a"));
    bench.requests.back()->made->times.deadline_ns = bench.host.clock().now_ns() + ms * kNsPerMs;
    bench.requests.back()->ask(bench.gate);
  }
  for (int ms = 10; ms <= 50; ms += 10) {
    bench.host.run_for(10 * kNsPerMs);
    EXPECT_EQ(std::count_if(bench.requests.begin(), bench.requests.end(),
                            [](const auto& one) { return one->state == State::kAnswered; }),
              ms / 10);
  }
  EXPECT_EQ(bench.host.simulation().pending_timers(), 0U);
}

TEST(RequestGate, RefusalsSayWhatIsWrongAndWhenToTryAgain) {
  AdmissionSettings settings = settings_with({"a:concurrency=1,queue=0", "b:rate=2/s,burst=1"});
  settings.in_flight_limit = 3;
  GateBench bench(settings);
  bench.send("a");
  GatedRequest& full = bench.send("a", 0, "7");
  EXPECT_EQ(full.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(
      full.status.message(),
      "[request id: 7] tenant 'a' has 0 requests waiting and 1 running, as many as it may; try again in "
      "1000 ms");
  EXPECT_EQ(full.made->retry_after_ms, 1000U);
  bench.send("b");
  GatedRequest& fast = bench.send("b");
  EXPECT_EQ(fast.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(
      fast.status.message(),
      "[request id: <id_unknown>] tenant 'b' is over its rate of 2 requests a second; try again in 500 ms");
  EXPECT_EQ(fast.made->retry_after_ms, 500U);
  bench.send("unknown");
  GatedRequest& overload = bench.send("unknown");
  EXPECT_EQ(overload.status.code(), Code::kUnavailable);
  EXPECT_EQ(
      overload.status.message(),
      "[request id: <id_unknown>] the server is overloaded: it has 3 requests in flight, or nearly, and "
      "others come first; try again in 1000 ms");
}

TEST(RequestGate, AWaitThatWasTooLongSaysWhoseLimitItWas) {
  AdmissionSettings settings = settings_with({"a:concurrency=1"});
  settings.concurrency = 2;
  settings.max_wait_ns = 100 * kNsPerMs;
  GateBench bench(settings);
  bench.send("a");
  bench.send("");
  GatedRequest& own = bench.send("a");
  GatedRequest& servers = bench.send("<script>");
  bench.host.run_for(100 * kNsPerMs);
  EXPECT_EQ(own.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(servers.status.code(), Code::kUnavailable);
  EXPECT_EQ(servers.status.message(),
            "[request id: <id_unknown>] no turn came for tenant 'default' in 100 ms; try again in 1000 ms");
  EXPECT_GT(servers.made->retry_after_ms, 0U);
}

TEST(RequestGate, CountsWhatItDoesWithBoundedLabels) {
  AdmissionSettings settings = settings_with({"a:concurrency=1,queue=1"}, "rate=1/h,burst=1");
  settings.tenants.others_apart = true;
  settings.tenants.max_others = 10;
  GateBench bench(settings);
  GatedRequest& first = bench.send("a");
  bench.send("a");
  bench.send("a");
  for (int i = 0; i < 50; ++i) bench.send(cat("hostile-", i));
  bench.host.run_for(kNsPerSecond / 2);
  first.end();
  bench.host.run_ready();
  auto values = test::RecordedMetrics(bench.gate).values();
  EXPECT_EQ(values["atoll_admission_requests_total{tenant=a}"], 2);
  EXPECT_EQ(values["atoll_admission_waited_total{tenant=a}"], 1);
  EXPECT_EQ(values["atoll_admission_wait_seconds_total{tenant=a}"], 0.5);
  EXPECT_EQ(values["atoll_admission_running{tenant=a}"], 1);
  EXPECT_EQ(values["atoll_admission_waiting{tenant=a}"], 0);
  EXPECT_EQ(values["atoll_admission_refused_total{tenant=a,reason=concurrency}"], 1);
  EXPECT_EQ(values["atoll_admission_requests_total{tenant=other}"], 10);
  EXPECT_EQ(values["atoll_admission_requests_total{tenant=default}"], 1);
  EXPECT_EQ(values["atoll_admission_refused_total{tenant=default,reason=rate}"], 39);
  EXPECT_EQ(values["atoll_admission_overloaded"], 0);
  EXPECT_EQ(values["atoll_admission_weight{tenant=a}"], 1);
  EXPECT_EQ(values["atoll_admission_concurrency_limit{tenant=a}"], 1);
  EXPECT_EQ(values["atoll_admission_queue_limit{tenant=a}"], 1);
  EXPECT_EQ(values["atoll_admission_rate_limit{tenant=a}"], 0);
  EXPECT_EQ(values["atoll_admission_rate_limit{tenant=other}"], 1.0 / 3600);
  EXPECT_EQ(values.size(), 3U * (12 + kReasons) + 1);
}

test::FakeOptions default_options() {
  test::FakeOptions options;
  options.set_strings("tenants", {})
      .set_string("default_tenant", "")
      .set_string("unknown_tenants", "shared")
      .set_int("max_unknown_tenants", 1024)
      .set_int("request_concurrency", 0)
      .set_duration_ns("max_request_wait", 10 * kNsPerSecond)
      .set_int("overload_in_flight", 0)
      .set_duration_ns("overload_queue_delay", 0)
      .set_duration_ns("overload_interval", 100 * kNsPerMs);
  return options;
}

TEST(RequestOptions, NothingIsLimitedByDefault) {
  auto read = read_options(default_options());
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->active);
  test::FakeHost host;
  RequestGate gate(read->settings, read->active, host.clock());
  EXPECT_FALSE(gate.active());
  ASSERT_TRUE(gate.start(host.executors(), 4).ok());
  EXPECT_EQ(host.simulation().executors(), 0U);
  EXPECT_TRUE(test::RecordedMetrics(gate).values().empty());
  gate.stop();
}

TEST(RequestOptions, AnyLimitMakesItActive) {
  EXPECT_TRUE(read_options(default_options().set_strings("tenants", {"a:"}))->active);
  EXPECT_TRUE(read_options(default_options().set_string("default_tenant", "rate=5/s"))->active);
  EXPECT_TRUE(read_options(default_options().set_int("request_concurrency", 1))->active);
  EXPECT_TRUE(read_options(default_options().set_int("overload_in_flight", 1))->active);
}

TEST(RequestOptions, SayWhatIsWrong) {
  EXPECT_EQ(read_options(default_options().set_string("default_tenant", "x")).status().message(),
            "option 'default_tenant' has 'x', expected a quota such as "
            "'weight=2,concurrency=8,rate=100/s,burst=20'");
  EXPECT_FALSE(read_options(default_options().set_strings("tenants", {"a"})).ok());
  EXPECT_EQ(
      read_options(default_options().set_duration_ns("overload_queue_delay", 1)).status().message(),
      "option 'overload_queue_delay' is set and 'request_concurrency' is 0, expected a number of requests "
      "that run at a time, for without one none waits");
}

TEST(RequestGate, AThreadThatCanNotBeHadIsSaid) {
  test::FakeHost host;
  RequestGate gate(one_at_a_time(), true, host.clock());
  host.simulation().refuse_creates(1);
  EXPECT_EQ(gate.start(host.executors(), 2).code(), Code::kResourceExhausted);
  EXPECT_EQ(host.simulation().executors(), 0U);
}

}  // namespace
}  // namespace atl::quotas
