/// The dynamic scheduler over millions of seeded arrivals, in virtual time. To repeat one seed:
/// ATOLL_SIMULATION_SEED=<seed> dynamic_scheduler_simulation_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/sanitized.h"
#include "schedulers/common/batch/scheduling_config.h"
#include "schedulers/common/testing/simulated_clients.h"
#include "schedulers/dynamic/dynamic_provider.h"
#include "schedulers/dynamic/testing/arrivals.h"
#include "schedulers/dynamic/testing/simulated_config.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kRequestsEach = 5'000;
constexpr uint64_t kSeeds = test::kSanitized ? 40 : 400;  // two million requests

/// While an instance executes, the rest of the simulation goes on inside execute().
class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed),
        scenario_(random_),
        executors_(clock_, seed ^ 0xA5A5),
        instances_(1 + random_.below(3)),
        policies_(queue_policies_from(scenario_.config.dynamic_batching())) {
    DynamicSettings settings;
    settings.queue_size_max = scenario_.queue_size_max;
    settings.dispatcher.light_execution_ns = random_.chance(40) ? 0 : 100 * kNsPerUs;
    executors_.let_tasks_nest();
    provider_ = std::make_unique<DynamicProvider>(settings, log_);
    std::vector<ScheduledInstance> scheduled;
    for (Instance& instance : instances_) {
      instance.simulation = this;
      scheduled.push_back({&instance, &instance.spec});
    }
    std::string config = scenario_.config.SerializeAsString();
    SchedulerContext context;
    context.model_name = "test";
    context.config = config;
    context.max_batch_size = static_cast<uint32_t>(scenario_.config.max_batch_size());
    context.instances = scheduled;
    context.reporter = &reporter_;
    context.clock = &clock_;
    context.executors = &executors_;
    auto made = provider_->create(context);
    EXPECT_TRUE(made.ok()) << made.status().text();
    scheduler_ = std::move(made).value();
    client_ = executors_.create("client", {}).value();
  }
  ~Simulation() { scheduler_.reset(); }

  /// \returns a digest of every batch: who was in it and when.
  uint64_t run() {
    arrive();
    executors_.run_until_idle();
    check_end();
    return digest_;
  }

 private:
  struct Instance final : BackendInstance {
    Status execute(const Batch& batch) noexcept override { return simulation->execute(*this, batch); }
    Simulation* simulation = nullptr;
    InstanceSpec spec;
    bool inside = false;
  };
  struct Client final : SimulatedRequest {
    int64_t arrived_ns = 0, timeout_at_ns = 0;
    uint64_t level = 0;
    bool waiting = false;
  };
  static Client& client_of(const Request& request) { return static_cast<Client&>(context_of(request)); }

  void arrive() {
    for (uint64_t burst = random_.chance(3) ? random_.below(20) : 1; burst > 0; --burst) submit();
    if (clients_.taken() >= kRequestsEach) {
      if (!std::exchange(stopped_, true)) scheduler_->stop_accepting();
      return;
    }
    (void)client_->post_at(clock_.now_ns() + scenario_.arrivals.next_gap_ns(random_),
                           make_task([this] { arrive(); }));
  }

  void submit() {
    Client& client = clients_.take();
    scenario_.fill(client.request, random_);
    client.failing = random_.chance(1);
    client.arrived_ns = clock_.now_ns();
    client.level = policies_.level_of(client.request);
    const QueuePolicy& policy = policies_.policy_of(client.level);
    uint64_t timeout_us = policy.timeout_us(client.request);
    bool rejects = timeout_us != 0 && policy.timeout_action == TimeoutAction::kReject;
    client.timeout_at_ns = rejects ? clock_.now_ns() + static_cast<int64_t>(timeout_us) * kNsPerUs : 0;
    if (random_.chance(2)) clients_.cancel(client);
    if (random_.chance(8)) {
      clients_.cancel_at(client, clock_.now_ns() + random_.between(0, 3 * kNsPerMs), *client_);
    }
    set_waiting(client, true);
    Status status = scheduler_->enqueue(client.request);
    if (status.ok()) return;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    set_waiting(client, false);
    ++refused_;
    clients_.refused(client);
  }
  void set_waiting(Client& client, bool waiting) {
    if (std::exchange(client.waiting, waiting) == waiting) return;
    waiting ? (void)waiting_.insert(&client) : (void)waiting_.erase(&client);
  }
  Status execute(Instance& instance, const Batch& batch) {
    EXPECT_FALSE(std::exchange(instance.inside, true)) << "an instance was entered twice";
    check_batch(batch);
    int64_t until_ns = clock_.now_ns() + random_.between(0, scenario_.execution_max_ns);
    // What is answered is answered at once at the end, so the requests stay the batch's until then.
    std::vector<Client*> clients;
    for (Request* request : batch.requests) clients.push_back(&client_of(*request));
    executors_.run_until(until_ns);
    Status status = clients[0]->failing ? internal_error("told to fail") : Status();
    for (Client* client : clients) {
      client->failing = !status.ok();
      if (status.ok()) answer(*client);
    }
    instance.inside = false;
    free_since_ns_ = clock_.now_ns();
    return status;
  }
  void answer(Client& client) {
    reporter_.report_request(client.request, true, {});
    ResponseSink* sink = client.request.sink;
    bool release_first = random_.chance(50);
    if (release_first) (void)client.request.release().ok();
    sink->new_response()->send();
    if (!release_first) (void)client.request.release().ok();
  }

  void check_batch(const Batch& batch) {
    uint32_t size = 0;
    int64_t now_ns = clock_.now_ns(), oldest_ns = now_ns;
    uint64_t level = 0;
    const Request& first = *batch.requests[0];
    digest_ = (digest_ ^ static_cast<uint64_t>(now_ns)) * 0x100000001b3ull;
    for (Request* request : batch.requests) {
      Client& client = client_of(*request);
      digest_ = (digest_ ^ client.ordinal) * 0x100000001b3ull;
      EXPECT_TRUE(client.in_use);
      EXPECT_FALSE(std::exchange(client.executed, true)) << "executed twice";
      set_waiting(client, false);
      size += request->batch_weight();
      oldest_ns = std::min(oldest_ns, client.arrived_ns);
      EXPECT_GE(client.level, level) << "a level before a higher one";
      level = std::max(level, client.level);
      EXPECT_TRUE(client.timeout_at_ns == 0 || now_ns <= client.timeout_at_ns)
          << "executed after its timeout";
      EXPECT_TRUE(compatible(first, *request));
      if (scenario_.first_come_first_served && instances_.size() == 1) {
        EXPECT_GE(client.ordinal + 1, last_executed_) << "served before an earlier one";
        last_executed_ = client.ordinal + 1;
      }
    }
    EXPECT_EQ(size, batch.total_batch_size);
    EXPECT_LE(size, std::max(1, scenario_.config.max_batch_size()));
    if (instances_.size() > 1) return;
    // Whoever was there when the instance fell idle and is served before this batch's last must be in it.
    for (const Client* other : waiting_) {
      // These have left the queue, and their answer is on its way.
      bool gone = other->was_cancelled || (other->timeout_at_ns != 0 && other->timeout_at_ns < now_ns);
      bool was_there = other->arrived_ns < std::min(now_ns, free_since_ns_);
      EXPECT_FALSE(!gone && was_there && other->level < level && !scenario_.tuned)
          << other->ordinal << " of a higher level was left waiting";
    }
    if (scenario_.tuned) return;
    EXPECT_LE(now_ns, std::max(oldest_ns + scenario_.delay_ns(), free_since_ns_))
        << "a batch waited longer than the delay beside an idle instance";
  }
  bool compatible(const Request& first, const Request& other) const {
    return scenario_.ragged || first.inputs.begin()->shape[1] == other.inputs.begin()->shape[1];
  }

  void answered(Client& client) {
    set_waiting(client, false);
    switch (client.code) {
      case Code::kOk:
        EXPECT_TRUE(client.executed);
        ++served_;
        break;
      case Code::kCancelled:
        EXPECT_FALSE(client.executed);
        EXPECT_EQ(client.reason, FailureReason::kCanceled);
        EXPECT_TRUE(client.was_cancelled || (client.request.times.deadline_ns != 0 &&
                                             client.request.times.deadline_ns < clock_.now_ns()));
        ++cancelled_;
        return;
      case Code::kUnavailable:
        EXPECT_FALSE(client.executed);
        EXPECT_EQ(client.reason, FailureReason::kRejected);
        if (!scenario_.tuned) {
          EXPECT_EQ(clock_.now_ns(), client.timeout_at_ns + 1);
        }
        ++rejected_;
        return;
      default:
        EXPECT_TRUE(client.executed && client.failing) << code_name(client.code);
        EXPECT_EQ(client.reason, FailureReason::kBackend);
        ++failed_;
    }
    if (scenario_.config.dynamic_batching().preserve_ordering()) {
      EXPECT_GE(client.ordinal + 1, last_answered_) << "answered before an earlier one";
      last_answered_ = client.ordinal + 1;
    }
  }

  void check_end() {
    EXPECT_EQ(served_ + cancelled_ + rejected_ + failed_ + refused_, clients_.taken());
    EXPECT_TRUE(clients_.all_ended()) << "requests without an end";
    EXPECT_TRUE(waiting_.empty());
    EXPECT_EQ(scheduler_->in_flight(), 0u);
    EXPECT_GT(served_, clients_.taken() / 200);
    EXPECT_GT(cancelled_, 0u);
  }

  test::FakeClock clock_;
  test::Random random_;
  SimulatedScenario scenario_;
  test::DeterministicExecutors executors_;
  test::RecordingLog log_;
  MarkingReporter reporter_;
  std::vector<Instance> instances_;
  const QueuePolicies policies_;
  SerialExecutorPtr client_;
  std::unique_ptr<DynamicProvider> provider_;
  std::unique_ptr<Scheduler> scheduler_;
  SimulatedClients<Client> clients_{[this](Client& client) { answered(client); }};
  std::set<const Client*> waiting_;
  bool stopped_ = false;
  int64_t free_since_ns_ = 0;
  uint64_t last_executed_ = 0, last_answered_ = 0, digest_ = 0xcbf29ce484222325ull;
  uint64_t refused_ = 0, served_ = 0, cancelled_ = 0, rejected_ = 0, failed_ = 0;
};

TEST(DynamicSimulation, PromisesHoldForEveryArrival) {
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

TEST(DynamicSimulation, TheSameSeedGivesTheSameBatches) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(Simulation(seed).run(), Simulation(seed).run()) << seed;
  EXPECT_NE(Simulation(1).run(), Simulation(2).run());
}

}  // namespace
}  // namespace atl::schedulers
