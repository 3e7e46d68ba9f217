/// The default scheduler over hundreds of thousands of seeded random events. To repeat one seed:
/// ATOLL_SIMULATION_SEED=<seed> default_scheduler_simulation_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/random.h"
#include "schedulers/common/testing/simulated_clients.h"
#include "schedulers/default/default_provider.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kRequestsEach = 5'000;
constexpr uint64_t kSeeds = 50;

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed), executors_(clock_, seed ^ 0xA5A5), instances_(1 + seed % 4) {
    DefaultSettings settings;
    if (random_.chance(30)) settings.queue_size_max = 10;
    settings.dispatcher.light_execution_ns = random_.chance(25) ? 0 : 100 * kNsPerUs;
    provider_ = std::make_unique<DefaultProvider>(settings);
    execution_max_ns_ = random_.chance(50) ? 60 * kNsPerUs : 5 * kNsPerMs;
    std::vector<ScheduledInstance> scheduled;
    for (Instance& instance : instances_) {
      instance.simulation = this;
      instance.spec.name = "test_0";
      scheduled.push_back({&instance, &instance.spec});
    }
    SchedulerContext context;
    context.instances = scheduled;
    context.reporter = &reporter_;
    context.clock = &clock_;
    context.executors = &executors_;
    auto made = provider_->create(context);
    EXPECT_TRUE(made.ok());
    scheduler_ = std::move(made).value();
    for (auto& client : clients_) client = executors_.create("client", {}).value();
    late_answers_ = executors_.create("backend", {}).value();
  }
  ~Simulation() {
    scheduler_.reset();
    EXPECT_EQ(executors_.executors(), clients_.size() + 1) << "threads are left";
  }

  void run() {
    for (uint64_t i = 0; i < kRequestsEach; ++i) {
      int64_t at_ns =
          clock_.now_ns() + random_.between(0, 2 * static_cast<int64_t>(kRequestsEach) * kNsPerMs / 5);
      (void)clients_[i % clients_.size()]->post_at(at_ns, make_task([this] { submit(); }));
    }
    executors_.run_until_idle();
    scheduler_->stop_accepting();
    submit();
    executors_.run_until_idle();
    check_counts();
  }

 private:
  struct Instance final : BackendInstance {
    Status execute(const Batch& batch) noexcept override { return simulation->execute(*this, batch); }
    Simulation* simulation = nullptr;
    InstanceSpec spec;
    bool inside = false;
  };

  void submit() {
    SimulatedRequest& context = contexts_.take();
    context.failing = random_.chance(2);
    if (random_.chance(5))
      context.request.times.deadline_ns = clock_.now_ns() + random_.between(0, 3 * kNsPerMs);
    if (random_.chance(2)) contexts_.cancel(context);
    if (random_.chance(15)) {
      contexts_.cancel_at(context, clock_.now_ns() + random_.between(0, 2 * kNsPerMs), *clients_[0]);
    }
    Status status = scheduler_->enqueue(context.request);
    if (status.ok()) return;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    ++refused_;
    contexts_.refused(context);
  }
  Status execute(Instance& instance, const Batch& batch) {
    EXPECT_FALSE(std::exchange(instance.inside, true)) << "an instance was entered twice";
    EXPECT_EQ(batch.requests.size(), 1u);
    SimulatedRequest& context = context_of(*batch.requests[0]);
    EXPECT_TRUE(context.in_use);
    EXPECT_FALSE(std::exchange(context.executed, true)) << "executed twice";
    if (instances_.size() == 1) {
      EXPECT_GT(context.ordinal + 1, last_executed_) << "served before an earlier one";
      last_executed_ = context.ordinal + 1;
    }
    if (random_.chance(5)) submit();
    for (int burst = random_.chance(1) ? 30 : 0; burst > 0; --burst) submit();
    clock_.advance(random_.between(0, execution_max_ns_));
    Status status = context.failing ? internal_error("told to fail") : Status();
    if (status.ok()) answer(context);
    instance.inside = false;
    return status;
  }
  void answer(SimulatedRequest& context) {
    if (random_.chance(10)) {  // a backend may answer after execute() has returned
      late_answers_->post(make_task([this, one = &context] { answer_now(*one); }));
    } else {
      answer_now(context);
    }
  }
  void answer_now(SimulatedRequest& context) {
    reporter_.report_request(context.request, true, {});
    bool release_first = random_.chance(50);
    if (release_first) (void)context.request.release().ok();
    context.new_response()->send();
    if (!release_first) (void)context.request.release().ok();
  }

  void answered(SimulatedRequest& context) {
    switch (context.code) {
      case Code::kOk:
        EXPECT_TRUE(context.executed);
        ++served_;
        break;
      case Code::kCancelled:
        EXPECT_FALSE(context.executed);
        EXPECT_EQ(context.reason, FailureReason::kCanceled);
        EXPECT_TRUE(context.was_cancelled || (context.request.times.deadline_ns != 0 &&
                                              context.request.times.deadline_ns < clock_.now_ns()));
        ++cancelled_;
        break;
      default:
        EXPECT_TRUE(context.executed && context.failing) << code_name(context.code);
        EXPECT_EQ(context.reason, FailureReason::kBackend);
        ++failed_;
    }
    if (random_.chance(5)) submit();
  }

  void check_counts() {
    EXPECT_EQ(served_ + cancelled_ + failed_ + refused_, contexts_.taken());
    EXPECT_TRUE(contexts_.all_ended()) << "requests without an end";
    EXPECT_EQ(scheduler_->in_flight(), 0u);
    EXPECT_GE(contexts_.taken(), kRequestsEach);
    EXPECT_GE(refused_, 1u) << "the one after the stop";
    EXPECT_GT(served_, contexts_.taken() / 4);
    EXPECT_GT(cancelled_, 0u);
    EXPECT_GT(failed_, 0u);
  }

  test::FakeClock clock_;
  test::Random random_;
  test::DeterministicExecutors executors_;
  MarkingReporter reporter_;
  std::vector<Instance> instances_;
  std::vector<SerialExecutorPtr> clients_{3};
  SerialExecutorPtr late_answers_;
  std::unique_ptr<DefaultProvider> provider_;
  std::unique_ptr<Scheduler> scheduler_;
  SimulatedClients<SimulatedRequest> contexts_{[this](SimulatedRequest& context) { answered(context); }};
  int64_t execution_max_ns_ = 0;
  uint64_t last_executed_ = 0;
  uint64_t refused_ = 0, served_ = 0, cancelled_ = 0, failed_ = 0;
};

TEST(DefaultSimulation, EveryRequestEndsOnceInOrder) {
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

}  // namespace
}  // namespace atl::schedulers
