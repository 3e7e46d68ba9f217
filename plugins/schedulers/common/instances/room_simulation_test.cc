/// A scheduler over instances that answer later and take only so much at a time (continuous batching), over
/// seeded random events. To repeat one seed: ATOLL_SIMULATION_SEED=<seed> schedulers_common_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "atoll/backend/room.h"
#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_admission.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/thread_executor.h"
#include "schedulers/common/batch/batch_scheduler.h"
#include "schedulers/common/testing/simulated_clients.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kRequestsEach = 2'000;
constexpr uint64_t kSeeds = 60;
constexpr uint32_t kWeightMax = 4;

struct Client final : SimulatedRequest {
  int64_t executed_ns = 0;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed), executors_(clock_, seed ^ 0x5A5A), capacity_(kWeightMax + seed % 7) {
    for (size_t i = 0; i < 1 + seed % 3; ++i) instances_.push_back(std::make_unique<Instance>(*this));
    std::vector<ScheduledInstance> scheduled;
    for (auto& instance : instances_) {
      instance->spec.name = "test_0";
      scheduled.push_back({instance.get(), &instance->spec});
      if (seed % 5 != 0) continue;
      admitted_.push_back(admission_.add_instance({}).value());
      admissions_.push_back(admitted_.back().get());
    }
    BatchSettings settings;
    settings.rules.size_max = 1 + seed % (kWeightMax + 1);
    settings.rules.one_request = seed % 4 == 0;
    settings.rules.delay_ns = random_.chance(50) ? 0 : 50 * kNsPerUs;
    settings.preserve_ordering = random_.chance(30);
    settings.dispatcher.light_execution_ns = random_.chance(25) ? 0 : 100 * kNsPerUs;
    size_max_ = std::max(settings.rules.size_max, kWeightMax);
    SchedulerContext context;
    context.instances = scheduled;
    context.admissions = admissions_;
    context.reporter = &reporter_;
    context.clock = &clock_;
    context.executors = &executors_;
    auto made =
        BatchScheduler::create(context, std::move(settings), executors_.create("answers", {}).value());
    EXPECT_TRUE(made.ok());
    scheduler_ = std::move(made).value();
    clients_ = executors_.create("clients", {}).value();
    answers_ = executors_.create("backend", {}).value();
  }
  ~Simulation() {
    scheduler_.reset();
    for (const std::string& problem : admission_.problems()) ADD_FAILURE() << problem;
  }

  void run() {
    for (uint64_t i = 0; i < kRequestsEach; ++i) {
      const int64_t at_ns =
          clock_.now_ns() + random_.between(0, static_cast<int64_t>(kRequestsEach) * 20'000);
      (void)clients_->post_at(at_ns, make_task([this] { submit(); }));
    }
    executors_.run_until_idle();
    // Whoever still waits would do so for good.
    EXPECT_TRUE(contexts_.all_ended()) << "requests without an end";
    EXPECT_EQ(scheduler_->in_flight(), 0u);
    EXPECT_GT(served_, contexts_.taken() / 2);
    for (auto& instance : instances_) {
      EXPECT_EQ(instance->room(), capacity_);
      EXPECT_GT(instance->fullest, capacity_ / 2) << "its room was used";
    }
  }

 private:
  struct Instance final : BackendInstance {
    explicit Instance(Simulation& owner) : simulation(owner), left(owner.capacity_) {}
    Status execute(const Batch& batch) noexcept override { return simulation.execute(*this, batch); }
    uint32_t room() const noexcept override { return left.left(); }
    bool add_room_listener(RoomListener& listener) noexcept override { return left.add_listener(listener); }
    void remove_room_listener(RoomListener& listener) noexcept override { left.remove_listener(listener); }
    Simulation& simulation;
    backends::Room left;
    InstanceSpec spec;
    uint32_t fullest = 0;
  };

  void submit() {
    Client& context = contexts_.take();
    context.request.batch_size = static_cast<uint32_t>(random_.between(0, kWeightMax));
    if (random_.chance(20)) contexts_.cancel_at(context, clock_.now_ns() + 50 * kNsPerUs, *clients_);
    EXPECT_TRUE(scheduler_->enqueue(context.request).ok());
  }
  Status execute(Instance& instance, const Batch& batch) {
    EXPECT_LE(batch.total_batch_size, instance.room()) << "more than there is room for";
    EXPECT_LE(batch.total_batch_size, size_max_);
    if (random_.chance(3)) return internal_error("told to fail");
    instance.left.take(batch.total_batch_size);
    instance.fullest = std::max(instance.fullest, capacity_ - instance.room());
    clock_.advance(random_.between(0, 10 * kNsPerUs));
    for (Request* request : batch.requests) {
      context_of(*request).executed = true;
      const int64_t at_ns = clock_.now_ns() + random_.between(0, 200 * kNsPerUs);
      (void)answers_->post_at(at_ns, make_task([this, request, &instance] { answer(instance, *request); }));
    }
    return {};
  }
  void answer(Instance& instance, Request& request) {
    reporter_.report_request(request, true, {});
    const uint32_t weight = request.batch_weight();
    request.sink->new_response()->send();
    instance.left.give_back(weight);
    (void)request.release().ok();
  }

  test::FakeClock clock_;
  test::Random random_;
  test::DeterministicExecutors executors_;
  MarkingReporter reporter_;
  test::FakeAdmission admission_;
  const uint32_t capacity_;
  uint32_t size_max_ = 0;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<AdmittedInstance>> admitted_;
  std::vector<AdmittedInstance*> admissions_;
  SerialExecutorPtr clients_, answers_;
  std::unique_ptr<Scheduler> scheduler_;
  SimulatedClients<Client> contexts_{[this](Client& client) { served_ += client.code == Code::kOk; }};
  uint64_t served_ = 0;
};

TEST(RoomSimulation, NoBatchIsLargerThanTheRoomAndNobodyIsForgotten) {
  if (const char* only = std::getenv("ATOLL_SIMULATION_SEED"); only != nullptr) {
    Simulation(std::strtoull(only, nullptr, 10)).run();
    return;
  }
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(cat("ATOLL_SIMULATION_SEED=", seed));
    Simulation(seed).run();
    if (HasFailure()) return;
  }
}

/// Takes three requests at a time, answers them on a thread of its own, and holds a batch back for which
/// another scheduler left no room, as the catalog does.
class LateInstance final : public BackendInstance {
 public:
  explicit LateInstance(test::ThreadExecutors& threads) : answers_(threads.create("answers", {}).value()) {}
  Status execute(const Batch& batch) noexcept override {
    std::lock_guard lock(executes_);
    while (room_.left() < batch.total_batch_size) std::this_thread::yield();
    room_.take(batch.total_batch_size);
    for (Request* request : batch.requests) {
      answers_->post(make_task([this, request] {
        request->sink->new_response()->send();
        room_.give_back(1);
        (void)request->release().ok();
      }));
    }
    return {};
  }
  uint32_t room() const noexcept override { return room_.left(); }
  bool add_room_listener(RoomListener& listener) noexcept override { return room_.add_listener(listener); }
  void remove_room_listener(RoomListener& listener) noexcept override { room_.remove_listener(listener); }

 private:
  std::mutex executes_;
  backends::Room room_{3};
  SerialExecutorPtr answers_;  // last: its tasks use the rest
};

/// One scheduler takes another's place while requests are inside the instance and in the line.
TEST(RoomThreads, ASchedulerIsReplacedWhileItsInstanceIsFull) {
  constexpr size_t kRequests = 50;
  test::ThreadExecutors threads;
  for (int round = 0; round < 100; ++round) {
    LateInstance instance(threads);
    InstanceSpec spec;
    const ScheduledInstance scheduled[] = {{&instance, &spec}};
    SchedulerContext context;
    context.instances = scheduled;
    context.clock = &threads.clock();
    context.executors = &threads;
    auto make = [&] {
      BatchSettings settings;
      settings.rules.size_max = 2;
      return BatchScheduler::create(context, std::move(settings), threads.create("refused", {}).value())
          .value();
    };
    std::vector<std::unique_ptr<test::TestRequest>> requests;
    for (size_t i = 0; i < 2 * kRequests; ++i) requests.push_back(std::make_unique<test::TestRequest>());
    auto old = make();
    for (size_t i = 0; i < kRequests; ++i) ASSERT_TRUE(requests[i]->enqueue(*old).ok());
    auto replacement = make();
    for (size_t i = kRequests; i < 2 * kRequests; ++i) ASSERT_TRUE(requests[i]->enqueue(*replacement).ok());
    old->stop_accepting();
    while (old->in_flight() != 0) std::this_thread::yield();
    old.reset();  // requests of its may still be inside
    for (auto& request : requests) ASSERT_TRUE(request->wait_done());
    for (auto& request : requests) EXPECT_TRUE(request->problems().empty());
    while (replacement->in_flight() != 0) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace atl::schedulers
