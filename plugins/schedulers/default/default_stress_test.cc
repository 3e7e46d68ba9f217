/// The default scheduler under real threads: enqueue, cancel, stop and destroy at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/thread_executor.h"
#include "default_provider.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;

/// Answers with an error now and then; notices a second thread.
class StressInstance final : public BackendInstance {
 public:
  Status execute(const Batch& batch) noexcept override {
    EXPECT_FALSE(inside_.exchange(true)) << "two threads in one instance";
    ++executions_;  // not atomic on purpose: a second thread would be a race
    Status status = executions_ % 50 == 0 ? internal_error("told to fail") : Status();
    if (status.ok()) {
      for (Request* request : batch.requests) {
        request->sink->new_response()->send();
        (void)request->release().ok();
      }
    }
    inside_ = false;
    return status;
  }

 private:
  std::atomic<bool> inside_{false};
  uint64_t executions_ = 0;
};

void run_round(uint64_t seed, test::ThreadExecutors& threads, int64_t light_execution_ns) {
  constexpr size_t kProducers = 3, kEach = 200;
  DefaultSettings settings;
  settings.dispatcher.light_execution_ns = light_execution_ns;
  DefaultProvider provider(settings);
  StressInstance instances[2];
  InstanceSpec specs[2];
  ScheduledInstance scheduled[2] = {{&instances[0], &specs[0]}, {&instances[1], &specs[1]}};
  SchedulerContext context;
  context.instances = scheduled;
  context.clock = &threads.clock();
  context.executors = &threads;
  auto made = provider.create(context);
  ASSERT_TRUE(made.ok()) << made.status().text();
  std::unique_ptr<Scheduler> scheduler = std::move(made).value();

  std::vector<std::unique_ptr<TestRequest>> requests;
  for (size_t i = 0; i < kProducers * kEach; ++i) requests.push_back(std::make_unique<TestRequest>());
  std::atomic<size_t> enqueued{0};
  std::atomic<size_t> refused{0};
  std::vector<std::thread> others;
  for (size_t p = 0; p < kProducers; ++p) {
    others.emplace_back([&, p] {
      for (size_t i = p; i < requests.size(); i += kProducers) {
        refused += !requests[i]->enqueue(*scheduler).ok();
        ++enqueued;
      }
    });
  }
  others.emplace_back([&] {  // before, while and after they are enqueued
    test::Random random(seed);
    for (size_t i = 0; i < requests.size(); ++i) requests[random.below(requests.size())]->cancel();
  });
  others.emplace_back([&] {
    while (enqueued < requests.size() * 9 / 10) std::this_thread::yield();
    scheduler->stop_accepting();
  });
  for (std::thread& other : others) other.join();
  while (scheduler->in_flight() != 0) std::this_thread::yield();
  scheduler.reset();
  size_t done = 0;
  for (auto& request : requests) {
    done += request->done();
    for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
  }
  EXPECT_EQ(done + refused, requests.size());
}

TEST(DefaultStress, ThreadsEnqueueCancelAndStop) {
  test::ThreadExecutors threads;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    run_round(seed, threads, seed % 3 == 0 ? 0 : (seed % 3 == 1 ? 100 * kNsPerUs : INT64_MAX));
    if (::testing::Test::HasFailure()) return;
  }
}

/// The catalog destroys a scheduler as soon as its last request has ended and in_flight() says 0, while the
/// thread that brought or answered that request is still on its way out.
TEST(DefaultStress, DestroyedAsSoonAsNothingIsInFlight) {
  test::ThreadExecutors threads;
  DefaultProvider provider(DefaultSettings{});
  StressInstance instance;
  InstanceSpec spec;
  ScheduledInstance scheduled[] = {{&instance, &spec}};
  SchedulerContext context;
  context.instances = scheduled;
  context.clock = &threads.clock();
  context.executors = &threads;
  for (int round = 0; round < 100; ++round) {
    auto made = provider.create(context);
    ASSERT_TRUE(made.ok());
    std::unique_ptr<Scheduler> scheduler = std::move(made).value();
    Scheduler* raw = scheduler.get();
    TestRequest requests[8];
    std::thread producer([&] {
      for (TestRequest& request : requests) EXPECT_TRUE(request.enqueue(*raw).ok());
    });
    std::thread canceller([&] { requests[7].cancel(); });
    for (TestRequest& request : requests) ASSERT_TRUE(request.wait_done());
    while (scheduler->in_flight() != 0) std::this_thread::yield();
    scheduler.reset();
    producer.join();
    canceller.join();
  }
}

}  // namespace
}  // namespace atl::schedulers
