/// Schedulers of sequences over millions of seeded steps, in virtual time: every step is answered once, in order,
/// and from the state that the steps before it left.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/sanitized.h"
#include "schedulers/common/sequence/sequence_provider.h"
#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/common/testing/simulated_clients.h"

namespace atl::schedulers {

/// One sequence as its client sees it, and what a model that adds up has to have as its state.
struct SimulatedSequence {
  uint64_t id = 0;
  uint32_t sent = 0, executed = 0;  ///< steps
  float sum = 0;
  bool inside = false;  ///< a step is with an instance
  bool lost = false;    ///< it ended before its end
  bool bound = false;   ///< to the following
  const void* instance = nullptr;
  size_t row = 0;
};

struct SimulatedStep final : SimulatedRequest {
  std::shared_ptr<SimulatedSequence> sequence;
  uint32_t number = 0;  ///< from 1 on
  float value = 0;
  Buffer buffer;
  int64_t shape[2] = {1, 1};
};

/// \param keeps_rows  a sequence has one row of its instance's batches, and they come one at a time
template <class Provider>
class SequenceSimulation {
 public:
  static constexpr uint64_t kSteps = 4'000;

  SequenceSimulation(uint64_t seed, std::string_view strategy, bool keeps_rows)
      : keeps_rows_(keeps_rows),
        random_(seed),
        executors_(clock_, seed ^ 0x5A5A),
        max_batch_size_(static_cast<uint32_t>(random_.below(4))),
        instances_(1 + random_.below(3)) {
    executors_.let_tasks_nest();
    SequenceProviderSettings settings;
    settings.dispatcher.light_execution_ns = random_.chance(40) ? 0 : 100 * kNsPerUs;
    settings.clock = &clock_;
    settings.state_memory = &memory_;
    provider_ = std::make_unique<Provider>(settings);
    std::vector<ScheduledInstance> scheduled;
    for (Instance& instance : instances_) {
      instance.simulation = this;
      scheduled.push_back({&instance, &instance.spec});
    }
    const std::string config = config_bytes(
        cat("max_batch_size: ", max_batch_size_, " sequence_batching { ", strategy,
            " max_sequence_idle_microseconds: 3000 state { input_name: 'SUM_IN' output_name: 'SUM_OUT' "
            "data_type: TYPE_FP32 dims: 1 } }"));
    SchedulerContext context;
    context.model_name = "test";
    context.model_version = 1;
    context.config = config;
    context.max_batch_size = max_batch_size_;
    context.instances = scheduled;
    context.reporter = &reporter_;
    context.clock = &clock_;
    context.executors = &executors_;
    auto made = provider_->create(context);
    EXPECT_TRUE(made.ok()) << made.status().text();
    scheduler_ = std::move(made).value();
    clients_thread_ = executors_.create("clients", {}).value();
  }
  ~SequenceSimulation() { scheduler_.reset(); }

  void run() {
    for (uint64_t client = 1; client <= 3 * instances_.size() * std::max(1u, max_batch_size_); ++client)
      begin(client);
    executors_.run_until_idle();
    EXPECT_TRUE(steps_.all_ended());
    EXPECT_EQ(scheduler_->in_flight(), 0u);
    for (const auto& [name, value] : test::RecordedMetrics(*provider_).values()) {
      const bool is_counter =
          name.starts_with("atoll_sequence_idle") || name.starts_with("atoll_sequence_resch");
      EXPECT_TRUE(is_counter || value == 0) << name << ": everything has ended, or been silent for too long";
    }
    EXPECT_GT(answered_, kSteps / 2);
    EXPECT_GT(lost_, 0u);
  }

 private:
  struct Instance final : BackendInstance {
    Status execute(const Batch& batch) noexcept override { return simulation->execute(*this, batch); }
    SequenceSimulation* simulation = nullptr;
    InstanceSpec spec;
    bool inside = false;
    size_t unreleased = 0;
  };
  static SimulatedStep& step_of(const Request& request) {
    return static_cast<SimulatedStep&>(context_of(request));
  }
  static bool is_null_row(const Request& request) { return (request.call_flags & kShadow) != 0; }

  /// A client has one sequence after the other, all of one id.
  void begin(uint64_t client) {
    auto sequence = std::make_shared<SimulatedSequence>();
    sequence->id = client;
    later(sequence);
  }
  void later(std::shared_ptr<SimulatedSequence> sequence) {
    const int64_t wait_ns = random_.chance(3) ? 8 * kNsPerMs : random_.between(0, kNsPerMs);
    (void)clients_thread_->post_at(clock_.now_ns() + wait_ns,
                                   make_task([this, sequence] { send_some(sequence); }));
  }
  void send_some(const std::shared_ptr<SimulatedSequence>& sequence) {
    bool ends = false;
    for (uint64_t count = random_.chance(20) ? 3 : 1; count > 0 && !ends && !sequence->lost; --count)
      ends = send(sequence);
    if (steps_.taken() >= kSteps) return;
    if (ends || sequence->lost || random_.chance(2)) return begin(sequence->id);  // some never end
    later(sequence);
  }
  /// \returns whether it was the last step
  bool send(const std::shared_ptr<SimulatedSequence>& sequence) {
    SimulatedStep& step = steps_.take();
    Request& request = step.request;
    step.sequence = sequence;
    step.number = ++sequence->sent;
    step.value = static_cast<float>(random_.between(1, 9));
    step.failing = random_.chance(2);
    const bool ends = random_.chance(15);
    request.sequence.number = sequence->id;
    request.sequence_flags = (step.number == 1 ? kSequenceStart : 0u) | (ends ? kSequenceEnd : 0u);
    request.batch_size = max_batch_size_ == 0 ? 0 : 1;
    if (random_.chance(5)) request.timeout_us = static_cast<uint64_t>(random_.between(1, 2000));
    if (random_.chance(3)) request.times.deadline_ns = clock_.now_ns() + random_.between(0, 2 * kNsPerMs);
    if (random_.chance(1)) steps_.cancel(step);
    if (random_.chance(3)) {
      steps_.cancel_at(step, clock_.now_ns() + random_.between(0, 2 * kNsPerMs), *clients_thread_);
    }
    const Status status = scheduler_->enqueue(request);
    if (status.ok()) return ends;
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.text();
    EXPECT_GT(step.number, 1u) << "a first step cannot be of an unknown sequence";
    lose(*sequence);
    steps_.refused(step);
    return ends;
  }
  void lose(SimulatedSequence& sequence) { lost_ += !std::exchange(sequence.lost, true); }

  Status execute(Instance& instance, const Batch& batch) {
    EXPECT_FALSE(std::exchange(instance.inside, true)) << "an instance was entered twice";
    EXPECT_TRUE(!keeps_rows_ || instance.unreleased == 0) << "a batch before the last one was released";
    EXPECT_LE(batch.requests.size(), std::max(1u, max_batch_size_));
    EXPECT_FALSE(is_null_row(*batch.requests.back()));
    std::vector<Request*> requests(batch.requests.begin(), batch.requests.end());
    for (size_t row = 0; row < requests.size(); ++row) {
      if (is_null_row(*requests[row])) {
        EXPECT_TRUE(keeps_rows_);
      } else {
        enter(instance, row, step_of(*requests[row]));
      }
    }
    executors_.run_until(clock_.now_ns() + random_.between(0, 300 * kNsPerUs));
    instance.inside = false;
    if (!is_null_row(*requests[0]) && step_of(*requests[0]).failing) {
      for (Request* request : requests) {
        if (is_null_row(*request)) continue;
        SimulatedStep& step = step_of(*request);
        step.failing = true;
        step.sequence->inside = false;
        step.sequence->executed = step.number;
      }
      return internal_error("told to fail");
    }
    instance.unreleased += requests.size();
    if (random_.chance(30)) {
      for (Request* request : requests) {
        (void)clients_thread_->post_at(clock_.now_ns() + random_.between(0, 500 * kNsPerUs),
                                       make_task([this, &instance, request] { answer(instance, *request); }));
      }
    } else {
      for (Request* request : requests) answer(instance, *request);
    }
    return {};
  }
  void enter(Instance& instance, size_t row, SimulatedStep& step) {
    SimulatedSequence& sequence = *step.sequence;
    EXPECT_TRUE(step.in_use);
    EXPECT_FALSE(std::exchange(step.executed, true)) << "executed twice";
    EXPECT_FALSE(std::exchange(sequence.inside, true)) << "two of one sequence at once";
    EXPECT_EQ(step.number, sequence.executed + 1) << "out of order, or one is missing";
    if (std::exchange(sequence.bound, true)) {
      EXPECT_EQ(sequence.instance, &instance);
      EXPECT_TRUE(!keeps_rows_ || sequence.row == row);
    }
    sequence.instance = &instance;
    sequence.row = row;
    float state = -1;
    std::memcpy(&state, step.request.find_input("SUM_IN")->buffers[0].data, sizeof state);
    EXPECT_EQ(state, step.number == 1 ? 0 : sequence.sum) << "step " << step.number << " of " << sequence.id;
  }
  void answer(Instance& instance, Request& request) {
    --instance.unreleased;
    if (is_null_row(request)) {
      request.sink->new_response()->send();
      return (void)request.release().ok();
    }
    SimulatedStep& step = step_of(request);
    SimulatedSequence& sequence = *step.sequence;
    sequence.sum = (step.number == 1 ? 0 : sequence.sum) + step.value;
    Buffer next;
    const std::span<const int64_t> shape(step.shape, max_batch_size_ == 0 ? 1 : 2);
    Status status = request.state->output("SUM_OUT", DataType::kFp32, shape, sizeof sequence.sum,
                                          MemoryKind::kCpu, 0, &next);
    EXPECT_TRUE(status.ok()) << status.text();
    std::memcpy(next.data, &sequence.sum, sizeof sequence.sum);
    EXPECT_TRUE(request.state->commit("SUM_OUT").ok());
    sequence.executed = step.number;
    sequence.inside = false;
    reporter_.report_request(request, true, {});
    ResponseSink* sink = request.sink;
    const bool releases_first = random_.chance(50);
    if (releases_first) (void)request.release().ok();
    sink->new_response()->send();
    if (!releases_first) (void)request.release().ok();
  }
  void answered(SimulatedStep& step) {
    ++answered_;
    switch (step.code) {
      case Code::kOk:
        EXPECT_TRUE(step.executed);
        break;
      case Code::kInternal:
        EXPECT_TRUE(step.failing);
        break;
      default:
        EXPECT_TRUE(step.code == Code::kCancelled || step.code == Code::kUnavailable);
        EXPECT_FALSE(step.executed);
        lose(*step.sequence);
    }
  }

  const bool keeps_rows_;
  test::Random random_;
  test::FakeClock clock_;
  test::DeterministicExecutors executors_;
  const uint32_t max_batch_size_;
  StateMemory memory_;
  MarkingReporter reporter_;
  std::vector<Instance> instances_;
  SimulatedClients<SimulatedStep> steps_{[this](SimulatedStep& step) { answered(step); }};
  uint64_t answered_ = 0, lost_ = 0;
  std::unique_ptr<Provider> provider_;
  SerialExecutorPtr clients_thread_;
  std::unique_ptr<Scheduler> scheduler_;
};

/// To repeat one seed: ATOLL_SIMULATION_SEED=<seed> sequence_direct_test
template <class Provider>
void simulate_sequences(const std::vector<std::string>& strategies, bool keeps_rows) {
  constexpr uint64_t kSeeds = test::kSanitized ? 40 : 400;
  const char* only = std::getenv("ATOLL_SIMULATION_SEED");
  const uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  const uint64_t last = only == nullptr ? kSeeds : first;
  for (uint64_t seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(cat("ATOLL_SIMULATION_SEED=", seed));
    SequenceSimulation<Provider>(seed, strategies[seed % strategies.size()], keeps_rows).run();
  }
}

}  // namespace atl::schedulers
