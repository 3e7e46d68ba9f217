/// A scheduler under real threads: enqueue, cancel, stop and destroy at the same time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/request/scheduler.h"
#include "atoll/testing/fake_admission.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/thread_executor.h"

namespace atl::schedulers {

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

/// A scheduler over two such instances.
struct StressBench {
  StressBench(test::ThreadExecutors& threads, SchedulerProvider& provider, std::string_view config = {},
              uint32_t max_batch_size = 0, test::FakeAdmission* admission = nullptr) {
    for (size_t i = 0; i < 2; ++i) scheduled[i] = {&instances[i], &specs[i]};
    for (size_t i = 0; admission != nullptr && i < 2; ++i) {
      admitted.push_back(admission->add_instance({}).value());
      admissions.push_back(admitted.back().get());
    }
    SchedulerContext context;
    context.model_name = "test";
    context.config = config;
    context.max_batch_size = max_batch_size;
    context.instances = scheduled;
    context.admissions = admissions;
    context.clock = &threads.clock();
    context.executors = &threads;
    auto made = provider.create(context);
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (made.ok()) scheduler = std::move(made).value();
  }
  StressInstance instances[2];
  InstanceSpec specs[2];
  ScheduledInstance scheduled[2];
  std::vector<std::unique_ptr<AdmittedInstance>> admitted;
  std::vector<AdmittedInstance*> admissions;
  std::unique_ptr<Scheduler> scheduler;
};

/// Three threads enqueue, one cancels, one stops, and one does what those who operate the server may do: every request ends
/// once.
inline void enqueue_cancel_and_stop(uint64_t seed, StressBench& bench,
                                    const std::function<void(Request&, size_t)>& prepare = {}) {
  constexpr size_t kProducers = 3, kEach = 200;
  Scheduler& scheduler = *bench.scheduler;
  std::vector<std::unique_ptr<test::TestRequest>> requests;
  for (size_t i = 0; i < kProducers * kEach; ++i) {
    requests.push_back(std::make_unique<test::TestRequest>());
    if (prepare) prepare(requests.back()->request(), i);
  }
  std::atomic<size_t> enqueued{0};
  std::atomic<size_t> refused{0};
  std::vector<std::thread> others;
  for (size_t p = 0; p < kProducers; ++p) {
    others.emplace_back([&, p] {
      for (size_t i = p; i < requests.size(); i += kProducers) {
        refused += !requests[i]->enqueue(scheduler).ok();
        ++enqueued;
      }
    });
  }
  others.emplace_back([&] {  // before, while and after they are enqueued
    test::Random random(seed);
    for (size_t i = 0; i < requests.size(); ++i) requests[random.below(requests.size())]->cancel();
  });
  others.emplace_back([&] {
    test::Random random(seed + 1);
    while (enqueued < requests.size()) {
      (void)scheduler.describe_queue();
      (void)scheduler.cancel_waiting(random.below(3), random.below(4));
      if (!random.chance(2)) continue;
      (void)scheduler.set_draining(true);
      (void)scheduler.set_draining(false);
    }
  });
  others.emplace_back([&] {
    while (enqueued < requests.size() * 9 / 10) std::this_thread::yield();
    scheduler.stop_accepting();
  });
  for (std::thread& other : others) other.join();
  while (scheduler.in_flight() != 0) std::this_thread::yield();
  bench.scheduler.reset();
  size_t done = 0;
  for (auto& request : requests) {
    done += request->done();
    for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
  }
  EXPECT_EQ(done + refused, requests.size());
}

/// Opens and closes the doors of both instances in a thread of its own, and leaves them open.
class RestlessDoors {
 public:
  RestlessDoors(test::FakeAdmission& admission, uint64_t seed) : admission_(admission) {
    thread_ = std::thread([this, seed] {
      test::Random random(seed);
      while (!ended_) {
        size_t door = random.below(2);
        random.chance(50) ? admission_.open(door) : admission_.close(door);
        (void)admission_.admit_once(random.below(2));
      }
    });
  }
  RestlessDoors(const RestlessDoors&) = delete;
  RestlessDoors& operator=(const RestlessDoors&) = delete;
  ~RestlessDoors() {
    ended_ = true;
    thread_.join();
    for (const std::string& problem : admission_.problems()) ADD_FAILURE() << problem;
  }

 private:
  test::FakeAdmission& admission_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

/// The catalog destroys a scheduler as soon as its last request has ended and in_flight() says 0, while the
/// thread that brought or answered that request is still on its way out.
inline void destroy_as_soon_as_nothing_is_in_flight(StressBench& bench,
                                                    const std::function<void(Request&)>& prepare = {}) {
  test::TestRequest requests[8];
  for (test::TestRequest& request : requests) {
    if (prepare) prepare(request.request());
  }
  std::thread producer([&, scheduler = bench.scheduler.get()] {
    for (test::TestRequest& request : requests) EXPECT_TRUE(request.enqueue(*scheduler).ok());
  });
  std::thread canceller([&] { requests[7].cancel(); });
  for (test::TestRequest& request : requests) EXPECT_TRUE(request.wait_done());
  while (bench.scheduler->in_flight() != 0) std::this_thread::yield();
  bench.scheduler.reset();
  producer.join();
  canceller.join();
}

}  // namespace atl::schedulers
