/// Schedulers, requests, scrapes and models that come and go, on threads. Meant for the sanitizers.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "admission/deadlines/testing/admission_bench.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/recording_sink.h"

namespace atl::deadlines {
namespace {

constexpr int kRounds = 1'500;

/// Whoever waits to be admitted.
struct Turn final : AdmissionListener {
  virtual ~Turn() = default;
  void admitted(void*) noexcept override {
    std::scoped_lock lock(mutex);
    come = true;
    changed.notify_one();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    const bool in_time = changed.wait_for(lock, std::chrono::seconds(60), [&] { return come; });
    come = false;
    return in_time;
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool come = false;
};

class NobodyWaits final : public AdmissionWaiter {
 public:
  virtual ~NobodyWaits() = default;
  void resume(Request&, Status, const AdmissionTicket&) noexcept override { ADD_FAILURE() << "nobody waits"; }
};

/// One scheduler with one instance. \returns executions
int serve(DeadlineAdmission& admission, Clock& clock, uint64_t number) {
  test::Random random(number);
  const test::FakeServedModel model(named_model(cat("m", number % 4)));
  int executions = 0;
  std::unique_ptr<AdmittedInstance> instance;
  Turn turn;
  for (int round = 0; round < kRounds; ++round) {
    if (round % 200 == 0) {
      instance.reset();
      ExecutionDemand demand;
      demand.model = model.info().name;
      demand.version = 1;
      demand.max_batch_size = 4;
      demand.on_gpu = random.chance(30);
      demand.latency_target_ns = random.chance(50) ? random.between(1, 20) * kNsPerMs : 0;
      instance = admission.add_instance(demand).value();
    }
    const auto coming = static_cast<uint32_t>(random.between(1, 4));
    for (uint32_t i = 0; i < coming; ++i) instance->arrived({clock.now_ns(), 0, 1});
    const bool at_once = instance->ask(turn, nullptr, random.chance(5));
    if (!at_once && random.chance(20)) instance->insist();
    if (!at_once && random.chance(20) && instance->withdraw()) {
      instance->left(0);
      continue;
    }
    if (!at_once && !turn.wait()) {
      ADD_FAILURE() << "waited a minute";
      return executions;
    }
    const uint32_t size = std::min(coming, instance->grant().batch_size_max);
    instance->begins(std::max(1U, size), 0);
    ++executions;
    instance->end(random.chance(90));
  }
  return executions;
}

TEST(DeadlinesTorture, NobodyIsForgotten) {
  test::RealClock clock;
  DeadlineAdmission admission({{2}, 1, kNsPerMs}, clock);
  std::atomic<bool> stopping{false};
  std::atomic<int> executions{0}, asked{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] { executions += serve(admission, clock, i + 1); });
  }
  std::thread others([&] {
    test::Random random(99);
    NobodyWaits waiter;
    while (!stopping) {
      test::FakeServedModel model(named_model(cat("m", random.below(5))));
      test::TestRequest request;
      request->model = &model;
      request->times.start_ns = clock.now_ns();
      if (random.chance(50)) request->times.deadline_ns = clock.now_ns() + random.between(1, 1000) * kNsPerUs;
      AdmissionTicket ticket;
      (void)admission.ask(*request, 0, waiter, &ticket).ok();
      if (++asked % 50 == 0) {
        EXPECT_GE(test::RecordedMetrics(admission).families().size(), 1U);
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  stopping = true;
  others.join();
  EXPECT_GT(executions, 0);
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace atl::deadlines
