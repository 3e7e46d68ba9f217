/// What open sequences cost: bytes of each, and the time of a step and of an end and a new beginning while so many
/// are open, in this process, with a model that costs nothing.
///
///     sequence_bench [SEQUENCES] [REPETITIONS]
///
/// Steps go to sequences drawn at random, so that each meets cold memory. Times are from enqueue() to its return,
/// the step executed and answered within, in nanoseconds at the median and the 99th percentile; the median of the
/// repetitions and their spread. Reading the clock twice, about 40 ns, is part of them.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/thread_executor.h"
#include "model_config.pb.h"
#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kSteps = 200'000;  // a repetition

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

/// Answers at once, and gives the state that the model has, if it has one.
class FreeInstance final : public BackendInstance {
 public:
  Status execute(const Batch& batch) noexcept override {
    for (Request* request : batch.requests) {
      if (request->state != nullptr) {
        constexpr int64_t kShape[] = {1, 1};
        Buffer next;
        if (request->state->output("OUT", DataType::kFp32, kShape, 4, MemoryKind::kCpu, 0, &next).ok()) {
          *static_cast<float*>(next.data) = 1;
          (void)request->state->commit("OUT").ok();
        }
      }
      request->sink->new_response()->send();
      (void)request->release().ok();
    }
    return {};
  }
};

class Context final : public ResponseSink {
 public:
  /// \returns how long it took; of the first ones, which run on the instance's thread until its speed is known, 0
  int64_t send(Scheduler& scheduler, uint64_t sequence, uint32_t flags) {
    request.reset();
    request.sink = this;
    request.batch_size = 1;
    request.sequence.number = sequence;
    request.sequence_flags = flags;
    answered_ = 0;
    const int64_t begun_ns = now_ns();
    const Status status = scheduler.enqueue(request);
    const int64_t took_ns = now_ns() - begun_ns;
    if (!status.ok()) fail(status.text());
    const bool was_here = answered_.load(std::memory_order_acquire) == 2;
    if (!was_here && is_measured) fail("an execution was handed to the instance's thread");
    while (answered_.load(std::memory_order_acquire) != 2) std::this_thread::yield();
    if (!was_here) return 0;
    return took_ns;
  }
  [[noreturn]] static void fail(const std::string& why) {
    std::fprintf(stderr, "sequence_bench: %s\n", why.c_str());
    std::exit(1);
  }
  Response* new_response() noexcept override {
    response_.reset();
    response_.sink = this;
    return &response_;
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override { return {}; }
  void send(Response* response, uint32_t) noexcept override { answered_ += response->error.ok(); }
  void discard(Response*) noexcept override {}
  void released(Request&) noexcept override { ++answered_; }

  Request request;
  bool is_measured = false;  ///< every execution has to be within its call

 private:
  std::atomic<int> answered_{0};
  Response response_;
};

std::string config_of(uint64_t sequences, bool has_state) {
  inference::ModelConfig config;
  config.set_max_batch_size(8);
  auto* batching = config.mutable_sequence_batching();
  batching->set_max_sequence_idle_microseconds(3'600'000'000);
  batching->mutable_oldest()->set_max_candidate_sequences(static_cast<int32_t>(sequences));
  if (has_state) {
    auto* state = batching->add_state();
    state->set_input_name("IN");
    state->set_output_name("OUT");
    state->set_data_type(inference::TYPE_FP32);
    state->add_dims(1);
  }
  return config.SerializeAsString();
}

struct Times {
  double p50_ns = 0, p99_ns = 0;
};

Times times_of(std::vector<int64_t>& ns) {
  std::sort(ns.begin(), ns.end());
  return {static_cast<double>(ns[ns.size() / 2]), static_cast<double>(ns[ns.size() * 99 / 100])};
}

void print(const char* what, std::vector<Times>& repetitions) {
  const auto text = [&](double Times::*which) {
    std::vector<double> values;
    for (const Times& one : repetitions) values.push_back(one.*which);
    std::sort(values.begin(), values.end());
    std::printf("  %6.0f (%.0f to %.0f)", values[values.size() / 2], values.front(), values.back());
  };
  std::printf("%-44s", what);
  text(&Times::p50_ns);
  text(&Times::p99_ns);
  std::printf("\n");
}

uint64_t heap_bytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void measure(uint64_t sequences, int repetitions, bool has_state) {
  test::ThreadExecutors threads;
  StateMemory memory;
  SequenceProviderSettings settings;
  settings.dispatcher.light_execution_ns = INT64_MAX;
  settings.clock = &threads.clock();
  settings.state_memory = &memory;
  OldestProvider provider(settings);
  FreeInstance instance;
  InstanceSpec spec;
  const ScheduledInstance scheduled[] = {{&instance, &spec}};
  const std::string config = config_of(sequences, has_state);
  SchedulerContext context;
  context.model_name = "bench";
  context.config = config;
  context.max_batch_size = 8;
  context.instances = scheduled;
  context.clock = &threads.clock();
  context.executors = &threads;
  std::unique_ptr<Scheduler> scheduler = provider.create(context).value();

  Context client;
  const uint64_t before = heap_bytes();
  for (uint64_t id = 1; id <= sequences; ++id) client.send(*scheduler, id, kSequenceStart);
  const double bytes_each = static_cast<double>(heap_bytes() - before) / static_cast<double>(sequences);
  const std::string name = cat(sequences, " sequences", has_state ? " with a state of 4 bytes" : "");
  std::printf("%s: %.0f bytes each\n", name.c_str(), bytes_each);

  client.is_measured = true;
  std::mt19937_64 random(1);
  std::vector<Times> steps, ends;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<int64_t> step_ns, end_ns;
    for (uint64_t step = 0; step < kSteps; ++step)
      step_ns.push_back(client.send(*scheduler, 1 + random() % sequences, 0));
    for (uint64_t step = 0; step < kSteps; ++step) {
      const uint64_t id = 1 + random() % sequences;
      end_ns.push_back(client.send(*scheduler, id, kSequenceEnd));
      client.send(*scheduler, id, kSequenceStart);
    }
    steps.push_back(times_of(step_ns));
    ends.push_back(times_of(end_ns));
  }
  print("  a step", steps);
  print("  the last step, with the end", ends);
}

int run(int argc, char** argv) {
  const uint64_t sequences = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  std::printf("%-44s  %s\n", "", "p50 ns (spread)      p99 ns (spread)");
  for (bool has_state : {false, true}) measure(sequences, repetitions, has_state);
  return 0;
}

}  // namespace
}  // namespace atl::schedulers

int main(int argc, char** argv) { return atl::schedulers::run(argc, argv); }
