#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/common/testing/scheduler_bench.h"
#include "schedulers/default/default_provider.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;

class DefaultBench : public SchedulerBench {
 public:
  explicit DefaultBench(uint32_t instance_count, const DefaultSettings& settings = {})
      : SchedulerBench(instance_count,
                       [&settings](test::FakeHost&) { return std::make_shared<DefaultProvider>(settings); }) {
  }
};

/// Notes whose threads are made, and refuses to make any while it is told to.
class NotedExecutors final : public ExecutorFactory {
 public:
  explicit NotedExecutors(ExecutorFactory& executors) : executors_(executors) {}
  virtual ~NotedExecutors() = default;
  Result<SerialExecutorPtr> create(std::string_view name,
                                   const ThreadPlacement& placement) noexcept override {
    if (refuses) return make_status(Code::kResourceExhausted, "no thread");
    made.emplace_back(name);
    return executors_.create(name, placement);
  }
  bool refuses = false;
  std::vector<std::string> made;

 private:
  ExecutorFactory& executors_;
};

TEST(DefaultScheduler, AnInstanceGetsItsThreadWithItsFirstRequest) {
  DefaultBench bench(2);
  NotedExecutors executors(bench.host.executors());
  SchedulerContext context = bench.context();
  context.executors = &executors;
  bench.scheduler = bench.provider->create(context).value();
  EXPECT_EQ(executors.made, std::vector<std::string>{"cancelled"});
  for (int i = 0; i < 3; ++i) {
    bench.enqueue();
    bench.host.run_until_idle();
  }
  EXPECT_EQ(executors.made, (std::vector<std::string>{"cancelled", "test_0"}))
      << "the second was never needed";
  bench.expect_all_done();
}

TEST(DefaultScheduler, RequestsFailWhileNoThreadIsToBeHad) {
  DefaultBench bench(1);
  NotedExecutors executors(bench.host.executors());
  SchedulerContext context = bench.context();
  context.executors = &executors;
  bench.scheduler = bench.provider->create(context).value();
  executors.refuses = true;
  test::TestRequest& refused = bench.enqueue();
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.response().code, Code::kResourceExhausted);
  EXPECT_EQ(refused.response().message, "no thread");
  EXPECT_EQ(bench.scheduler->in_flight(), 0u);
  executors.refuses = false;
  test::TestRequest& served = bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_TRUE(served.done());
  EXPECT_EQ(served.response().code, Code::kOk);
}

TEST(DefaultScheduler, ALightInstanceRunsOnTheThreadThatBringsTheRequest) {
  DefaultBench bench(1);
  bench.behavior.busy_ns = 99 * kNsPerUs;
  for (uint32_t i = 0; i < ExecutionTime::kSamplesMin; ++i) {
    EXPECT_FALSE(bench.enqueue().done()) << "its speed is not known yet";
    bench.host.run_until_idle();
  }
  EXPECT_TRUE(bench.enqueue().done());
  bench.expect_all_done();
}

TEST(DefaultScheduler, AHeavyInstanceRunsOnItsOwnThread) {
  DefaultBench bench(1);
  bench.behavior.busy_ns = 101 * kNsPerUs;
  bench.warm_up(20);
  EXPECT_FALSE(bench.enqueue().done());
  EXPECT_EQ(bench.scheduler->in_flight(), 1u);
  bench.host.run_until_idle();
  bench.expect_all_done();
}

TEST(DefaultScheduler, AnInstanceThatBecomesHeavyIsHandedOver) {
  DefaultBench bench(1);
  bench.behavior.busy_ns = 10 * kNsPerUs;
  bench.warm_up(10);
  bench.behavior.busy_ns = 10 * kNsPerMs;
  int inline_runs = 0;
  while (bench.enqueue().done()) ++inline_runs;
  EXPECT_GE(inline_runs, 1) << "known to be light until it has shown otherwise";
  EXPECT_LE(inline_runs, 3);
  bench.host.run_until_idle();
  bench.behavior.busy_ns = 10 * kNsPerUs;
  bench.warm_up(60);
  EXPECT_TRUE(bench.enqueue().done()) << "and light again";
  bench.expect_all_done();
}

/// A slow model that ends early for clients that reset their calls.
TEST(DefaultScheduler, ClientsThatCancelMakeNoModelLight) {
  DefaultBench bench(1);
  auto cancelled_while_executing = [&](const Batch&) {
    bench.requests.back()->cancel();
    bench.behavior.busy_ns = 2 * kNsPerUs;
  };
  for (bool is_known : {false, true}) {
    bench.behavior.on_execute = {};
    bench.behavior.busy_ns = 10 * kNsPerMs;
    if (is_known) bench.warm_up(20);
    bench.behavior.on_execute = cancelled_while_executing;
    bench.warm_up(40);
    bench.behavior.on_execute = {};
    bench.behavior.busy_ns = 10 * kNsPerMs;
    EXPECT_FALSE(bench.enqueue().done()) << "it would have held the thread that brings requests";
    bench.host.run_until_idle();
  }
  bench.behavior.busy_ns = 10 * kNsPerUs;
  bench.warm_up(20);
  EXPECT_TRUE(bench.enqueue().done()) << "executions that nobody cancels still count";
  bench.expect_all_done();
}

TEST(DefaultScheduler, InlineExecutionCanBeTurnedOff) {
  DefaultSettings settings;
  settings.dispatcher.light_execution_ns = 0;
  DefaultBench bench(1, settings);
  bench.warm_up(20);
  EXPECT_FALSE(bench.enqueue().done());
  bench.host.run_until_idle();
  bench.expect_all_done();
}

TEST(DefaultScheduler, ARequestsThreadDoesNotServeTheOthersForLong) {
  DefaultSettings settings;
  DefaultBench bench(1, settings);
  bench.warm_up(10);
  uint64_t before = bench.instances[0]->executions();
  // Each execution brings the next request, so without a bound this enqueue would go on to the end.
  int left = 100;
  bench.behavior.on_execute = [&](const Batch&) {
    if (left-- > 0) bench.enqueue();
  };
  bench.enqueue();
  EXPECT_EQ(bench.instances[0]->executions() - before, settings.dispatcher.inline_batches_max);
  bench.host.run_until_idle();
  EXPECT_EQ(bench.instances[0]->executions() - before, 101u);
  bench.expect_all_done();
}

TEST(DefaultScheduler, InlineRunsNestOnlySoDeep) {
  DefaultSettings settings;
  DefaultBench bench(30, settings);
  // All instances are made known to be light; while one executes, the next idle one is taken.
  int left = 0;
  uint32_t depth = 0, deepest = 0;
  bench.behavior.on_execute = [&](const Batch&) {
    deepest = std::max(deepest, ++depth);
    if (left-- > 0) bench.enqueue();
    --depth;
  };
  for (int round = 0; round < 10; ++round) {
    left = 29;
    bench.enqueue();
    bench.host.run_until_idle();
  }
  EXPECT_EQ(deepest, settings.dispatcher.inline_depth_max + 1)
      << "an execution on an instance's thread and the inline ones inside it";
  bench.expect_all_done();
}

TEST(DefaultScheduler, OneInstanceServesInTheOrderOfArrival) {
  DefaultBench bench(1);
  for (int i = 0; i < 50; ++i) bench.enqueue();
  bench.host.run_until_idle();
  bench.expect_all_done();
  std::vector<test::RecordedBatch> batches = bench.instances[0]->batches();
  ASSERT_EQ(batches.size(), 50u);
  for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(batches[i].ids, std::vector{cat("r", i)});
}

TEST(DefaultScheduler, EveryIdleInstanceIsUsed) {
  DefaultBench bench(3);
  for (int i = 0; i < 3; ++i) bench.enqueue();
  bench.host.run_until_idle();
  for (auto& instance : bench.instances) EXPECT_EQ(instance->executions(), 1u);
  bench.expect_all_done();
}

TEST(DefaultScheduler, ACancelledRequestIsAnsweredWhileTheInstanceIsBusy) {
  DefaultBench bench(1);
  auto canceller = bench.host.executors().create("canceller", {}).value();
  TestRequest& running = bench.enqueue();
  TestRequest& queued = bench.enqueue();
  bench.behavior.on_execute = [&](const Batch&) {
    queued.cancel();
    EXPECT_FALSE(queued.done()) << "not from inside cancel(), which still uses the request";
    bench.host.simulation().run_ready();  // all other threads go on while this one executes
    EXPECT_TRUE(queued.done());
    EXPECT_FALSE(running.done());
    bench.behavior.on_execute = {};
  };
  bench.host.run_until_idle();
  EXPECT_EQ(queued.response().code, Code::kCancelled);
  EXPECT_EQ(queued.response().message, "");
  EXPECT_EQ(bench.instances[0]->executions(), 1u);
  bench.expect_all_done();
  canceller.reset();
}

TEST(DefaultScheduler, ARequestCancelledBeforeItComesIsNotExecuted) {
  DefaultBench bench(1);
  TestRequest& request = bench.add();
  request.cancel();
  ASSERT_TRUE(request.enqueue(*bench.scheduler).ok());
  EXPECT_EQ(request.response().code, Code::kCancelled);
  EXPECT_EQ(bench.instances[0]->executions(), 0u);
  bench.expect_all_done();
  EXPECT_EQ(bench.reporter.all().not_executed[static_cast<size_t>(FailureReason::kCanceled)], 1u);
}

TEST(DefaultScheduler, ARequestWhoseDeadlinePassedIsNotExecuted) {
  DefaultBench bench(1);
  bench.behavior.busy_ns = 10 * kNsPerMs;
  int64_t now_ns = bench.host.clock().now_ns();
  bench.enqueue();
  TestRequest& late = bench.add();
  late->times.deadline_ns = now_ns + 9 * kNsPerMs;
  TestRequest& early = bench.add();
  early->times.deadline_ns = now_ns + 11 * kNsPerMs;
  ASSERT_TRUE(late.enqueue(*bench.scheduler).ok());
  ASSERT_TRUE(early.enqueue(*bench.scheduler).ok());
  bench.host.run_until_idle();
  EXPECT_EQ(late.response().code, Code::kCancelled);
  EXPECT_EQ(early.response().code, Code::kOk);
  EXPECT_EQ(bench.instances[0]->batches().back().deadline_ns, early->times.deadline_ns);
  bench.expect_all_done();
}

TEST(DefaultScheduler, TheLineHasAnEnd) {
  DefaultSettings settings;
  settings.queue_size_max = 3;
  DefaultBench bench(1, settings);
  for (int i = 0; i < 4; ++i) bench.enqueue();  // one executing, three in line
  TestRequest named("7"), nameless;
  Status status = named.enqueue(*bench.scheduler);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "[request id: 7] Exceeds maximum queue size");
  EXPECT_EQ(nameless.enqueue(*bench.scheduler).message(),
            "[request id: <id_unknown>] Exceeds maximum queue size");
  bench.requests[2]->cancel();  // leaves the line at once, so there is room
  bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_TRUE(named.problems().empty());
  bench.expect_all_done();
}

TEST(DefaultScheduler, AfterStopTheTextIsTheSpecifiedOne) {
  DefaultBench bench(1);
  bench.enqueue();
  bench.scheduler->stop_accepting();
  TestRequest late("7");
  Status status = late.enqueue(*bench.scheduler);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(
      status.message(),
      "[request id: 7] Server is stopping, scheduler for model has stopped accepting new inference requests");
  bench.host.run_until_idle();
  bench.expect_all_done();
}

TEST(DefaultScheduler, AfterStopStepsOfOtherRequestsAreServed) {
  DefaultBench bench(1);
  bench.scheduler->stop_accepting();
  TestRequest step("7");
  step->call_flags = kIsStep;
  EXPECT_TRUE(step.enqueue(*bench.scheduler).ok());
  bench.host.run_until_idle();
  EXPECT_TRUE(step.got_final());
  bench.expect_all_done();
}

TEST(DefaultScheduler, AFailedExecutionCountsAsTheBackends) {
  DefaultBench bench(1);
  bench.behavior.fail_executes = 1;
  bench.behavior.failure = Code::kResourceExhausted;
  TestRequest& failed = bench.enqueue();
  TestRequest& served = bench.enqueue();
  bench.host.run_until_idle();
  EXPECT_EQ(failed.response().code, Code::kResourceExhausted);
  EXPECT_EQ(failed.response().message, "the fake instance was told to fail");
  EXPECT_EQ(served.response().code, Code::kOk);
  EXPECT_EQ(bench.reporter.all().not_executed[static_cast<size_t>(FailureReason::kBackend)], 1u);
  bench.expect_all_done();
}

TEST(DefaultScheduler, QueueStartIsNoted) {
  DefaultBench bench(1);
  TestRequest& fresh = bench.enqueue();
  TestRequest& stamped = bench.add();
  stamped->times.queue_start_ns = 5;
  ASSERT_TRUE(stamped.enqueue(*bench.scheduler).ok());
  EXPECT_EQ(fresh->times.queue_start_ns, bench.host.clock().now_ns());
  EXPECT_EQ(stamped->times.queue_start_ns, 5);
  bench.host.run_until_idle();
  bench.expect_all_done();
}

/// Where it has a place of its own it is known at once whether there can be such a thread.
TEST(DefaultScheduler, AFailedThreadOfABoundInstanceFailsTheCreationAndLeavesNothing) {
  DefaultBench bench(1);
  uint64_t before = bench.host.simulation().executors();
  InstanceSpec bound;
  bound.name = "bound_0";
  bound.cpu_cores = {0};
  const ScheduledInstance instances[] = {{bench.instances[0].get(), &bound}};
  SchedulerContext context = bench.context();
  context.instances = instances;
  bench.host.simulation().refuse_creates(1);
  auto failed = bench.provider->create(context);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kResourceExhausted);
  EXPECT_NE(failed.status().text().find("bound_0"), std::string::npos) << failed.status().text();
  EXPECT_EQ(bench.host.simulation().executors(), before);
}

TEST(DefaultScheduler, OneAnswerThreadServesAllModelsAndGoesWithTheLast) {
  DefaultBench bench(2);
  EXPECT_EQ(bench.host.simulation().executors(), 1u);
  auto second = bench.provider->create(bench.context());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(bench.host.simulation().executors(), 1u);
  bench.warm_up(1);
  EXPECT_EQ(bench.host.simulation().executors(), 2u) << "with the instance's, which has been needed";
  bench.scheduler.reset();
  EXPECT_EQ(bench.host.simulation().executors(), 1u);
  std::move(second).value().reset();
  EXPECT_EQ(bench.host.simulation().executors(), 0u);
}

}  // namespace
}  // namespace atl::schedulers
