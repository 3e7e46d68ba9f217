/// Enqueue to response through a scheduler, in this process, with a model that costs nothing: what a request
/// pays for being scheduled.
///
///     batcher_bench [SECONDS_EACH] [REPETITIONS]
///
/// For each case requests a second, and the time from enqueue() to the response of each request, in
/// nanoseconds at the median and the 99th percentile; the median of the repetitions and their spread. Reading
/// the clock twice, about 40 ns, is part of the latencies and of the rates.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/fake_log.h"
#include "atoll/testing/thread_executor.h"
#include "model_config.pb.h"
#include "schedulers/default/default_provider.h"
#include "schedulers/dynamic/dynamic_provider.h"

namespace atl::schedulers {
namespace {

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

/// Answers at once.
class FreeInstance final : public BackendInstance {
 public:
  Status execute(const Batch& batch) noexcept override {
    for (Request* request : batch.requests) {
      request->sink->new_response()->send();
      (void)request->release().ok();
    }
    return {};
  }
};

/// One request that is sent again and again.
class Context final : public ResponseSink {
 public:
  void begin() {
    request.reset();
    request.sink = this;
    request.batch_size = 1;
    busy.store(true, std::memory_order_relaxed);
    begun_ns = now_ns();
  }
  Response* new_response() noexcept override {
    response_.reset();
    response_.sink = this;
    return &response_;
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override { return {}; }
  void send(Response*, uint32_t) noexcept override { answered_ns = now_ns(); }
  void discard(Response*) noexcept override {}
  void released(Request&) noexcept override { busy.store(false, std::memory_order_release); }

  Request request;
  int64_t begun_ns = 0, answered_ns = 0;
  std::atomic<bool> busy{false};

 private:
  Response response_;
};

struct Case {
  const char* name;
  const char* batching;  ///< null: the default scheduler
  int64_t light_execution_ns;
  uint32_t producers, in_flight;  ///< the latter of each producer
};

constexpr char kPlain[] = "";
constexpr int64_t kLight = 100 * kNsPerUs;

constexpr Case kCases[] = {
    {"default, no hop", nullptr, kLight, 1, 1},
    {"dynamic, no hop", kPlain, kLight, 1, 1},
    {"dynamic, no hop", kPlain, kLight, 2, 1},
    {"dynamic, batches of 8 by size, no hop", "size 8", kLight, 1, 8},
    {"dynamic, batches of 8 by size, no hop", "size 8", kLight, 2, 8},
    {"dynamic, preserve ordering, no hop", "ordered", kLight, 1, 1},
    {"dynamic, one hop", kPlain, 0, 1, 64},
    {"dynamic, one hop", kPlain, 0, 2, 64},
};

std::string config_of(const Case& which) {
  inference::ModelConfig config;
  config.set_max_batch_size(8);
  auto* batching = config.mutable_dynamic_batching();
  batching->add_preferred_batch_size(8);
  std::string kind = which.batching == nullptr ? "" : which.batching;
  if (kind == "size 8") batching->set_max_queue_delay_microseconds(1'000'000);
  if (kind == "ordered") batching->set_preserve_ordering(true);
  return config.SerializeAsString();
}

struct Figures {
  double per_second = 0, p50_ns = 0, p99_ns = 0;
};

/// Of one producer.
struct Latencies {
  static constexpr size_t kKept = 1 << 22;
  void add(int64_t ns) {
    ++count;
    if (kept.size() < kKept) kept.push_back(static_cast<uint32_t>(std::min<int64_t>(ns, UINT32_MAX)));
  }
  uint64_t count = 0;
  std::vector<uint32_t> kept;
};

double quantile(std::vector<uint32_t>& sorted_partly, double share) {
  auto at =
      sorted_partly.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(sorted_partly.size() - 1));
  std::nth_element(sorted_partly.begin(), at, sorted_partly.end());
  return *at;
}

/// One producer, for the time: sends whichever of its contexts is free.
void produce(Scheduler& scheduler, uint32_t in_flight, int64_t end_ns, Latencies* latencies) {
  std::vector<std::unique_ptr<Context>> contexts(in_flight);
  for (auto& context : contexts) context = std::make_unique<Context>();
  auto record = [&](Context& context) {
    if (context.begun_ns != 0) latencies->add(context.answered_ns - context.begun_ns);
    context.begun_ns = 0;
  };
  for (size_t next = 0; now_ns() < end_ns; next = (next + 1) % in_flight) {
    Context& context = *contexts[next];
    while (context.busy.load(std::memory_order_acquire)) std::this_thread::yield();
    record(context);
    context.begin();
    if (!scheduler.enqueue(context.request).ok()) {  // another producer's time was over first
      context.busy = false;
      context.begun_ns = 0;
      break;
    }
  }
  scheduler.stop_accepting();  // what waits for company goes
  for (auto& context : contexts) {
    while (context->busy.load(std::memory_order_acquire)) std::this_thread::yield();
    record(*context);
  }
}

Figures measure(const Case& which, double seconds) {
  test::ThreadExecutors threads;
  test::RecordingLog log;
  FreeInstance instance;
  InstanceSpec spec;
  spec.name = "free_0";
  ScheduledInstance scheduled[] = {{&instance, &spec}};
  std::string config = config_of(which);
  SchedulerContext context;
  context.model_name = "free";
  context.config = config;
  context.max_batch_size = 8;
  context.instances = scheduled;
  context.clock = &threads.clock();
  context.executors = &threads;
  DefaultSettings default_settings;
  DynamicSettings dynamic_settings;
  default_settings.dispatcher.light_execution_ns = dynamic_settings.dispatcher.light_execution_ns =
      which.light_execution_ns;
  DefaultProvider default_provider(default_settings);
  DynamicProvider dynamic_provider(dynamic_settings, log);
  auto made = which.batching == nullptr ? default_provider.create(context) : dynamic_provider.create(context);
  if (!made.ok()) std::abort();
  std::unique_ptr<Scheduler> scheduler = std::move(made).value();

  std::vector<Latencies> latencies(which.producers);
  std::vector<std::thread> producers;
  int64_t begun_ns = now_ns(), end_ns = begun_ns + static_cast<int64_t>(seconds * 1e9);
  for (uint32_t i = 0; i < which.producers; ++i) {
    producers.emplace_back([&, i] { produce(*scheduler, which.in_flight, end_ns, &latencies[i]); });
  }
  for (std::thread& producer : producers) producer.join();
  double took_s = static_cast<double>(now_ns() - begun_ns) / 1e9;
  while (scheduler->in_flight() != 0) std::this_thread::yield();
  Latencies all;
  for (Latencies& one : latencies) {
    all.count += one.count;
    all.kept.insert(all.kept.end(), one.kept.begin(), one.kept.end());
  }
  return {static_cast<double>(all.count) / took_s, quantile(all.kept, 0.5), quantile(all.kept, 0.99)};
}

std::string spread(std::vector<Figures> runs, double Figures::*figure) {
  std::sort(runs.begin(), runs.end(),
            [&](const Figures& a, const Figures& b) { return a.*figure < b.*figure; });
  char text[96];
  std::snprintf(text, sizeof text, "%.0f (%.0f to %.0f)", runs[runs.size() / 2].*figure, runs.front().*figure,
                runs.back().*figure);
  return text;
}

int run(double seconds, int repetitions) {
  std::printf("| case | producers | in flight | requests/s | p50 ns | p99 ns |\n|---|---|---|---|---|---|\n");
  std::vector<std::vector<Figures>> runs(std::size(kCases));
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < std::size(kCases); ++i) {
      runs[i].push_back(measure(kCases[i], seconds));
      std::fprintf(stderr, "\r%zu of %zu ", repetition * std::size(kCases) + i + 1,
                   static_cast<size_t>(repetitions) * std::size(kCases));
    }
  }
  std::fprintf(stderr, "\r");
  for (size_t i = 0; i < std::size(kCases); ++i) {
    std::printf("| %s | %u | %u | %s | %s | %s |\n", kCases[i].name, kCases[i].producers, kCases[i].in_flight,
                spread(runs[i], &Figures::per_second).c_str(), spread(runs[i], &Figures::p50_ns).c_str(),
                spread(runs[i], &Figures::p99_ns).c_str());
  }
  return 0;
}

}  // namespace
}  // namespace atl::schedulers

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  if (seconds <= 0 || repetitions < 1) {
    std::fprintf(stderr, "usage: batcher_bench [SECONDS_EACH] [REPETITIONS]\n");
    return 2;
  }
  return atl::schedulers::run(seconds, repetitions);
}
