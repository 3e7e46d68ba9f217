/// What admission costs an execution: requests through the default scheduler, one at a time a model, with a
/// model that costs nothing and the rate limiter's own code.
///
///     admission_bench [SECONDS_EACH] [REPETITIONS]
///
/// For each case executions a second and nanoseconds an execution of one model; the median of the
/// repetitions and their spread.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admission/rate_limiter/rate_limiter.h"
#include "atoll/testing/thread_executor.h"
#include "schedulers/default/default_provider.h"

namespace atl::schedulers {
namespace {

struct Case {
  const char* name;
  uint32_t models;           ///< each with one instance and a thread that sends
  bool limited = false;      ///< by a rate limiter
  bool resources = false;    ///< each execution holds one copy
  bool shared = false;       ///< of one resource of all models, which has one copy
  bool long_enough = false;  ///< an execution takes 20 µs, so that the others come to wait
};

constexpr Case kCases[] = {
    {"no limiter", 1},
    {"limiter, no resources", 1, true},
    {"limiter, a resource of its own", 1, true, true},
    {"no limiter", 2},
    {"limiter, a resource of its own", 2, true, true},
    {"limiter, one copy for all", 2, true, true, true},
    {"no limiter, executions of 20 µs", 2, false, false, false, true},
    {"limiter, one copy for all, executions of 20 µs", 2, true, true, true, true},
};

constexpr auto kLong = std::chrono::microseconds(20);

class Instance final : public BackendInstance {
 public:
  explicit Instance(bool long_enough) : long_enough_(long_enough) {}
  Status execute(const Batch& batch) noexcept override {
    if (long_enough_) {
      auto end = std::chrono::steady_clock::now() + kLong;
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    for (Request* request : batch.requests) {
      request->sink->new_response()->send();
      (void)request->release().ok();
    }
    return {};
  }

 private:
  const bool long_enough_;
};

/// One request that is sent again and again.
class Context final : public ResponseSink {
 public:
  void begin() {
    request.reset();
    request.sink = this;
    busy.store(true, std::memory_order_relaxed);
  }
  Response* new_response() noexcept override {
    response_.reset();
    response_.sink = this;
    return &response_;
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override { return {}; }
  void send(Response*, uint32_t) noexcept override {}
  void discard(Response*) noexcept override {}
  void released(Request&) noexcept override { busy.store(false, std::memory_order_release); }

  Request request;
  std::atomic<bool> busy{false};

 private:
  Response response_;
};

/// One model version with its scheduler.
class Model {
 public:
  Model(const Case& which, uint32_t number, test::ThreadExecutors& threads, ExecutionAdmission* limiter)
      : instance_(which.long_enough) {
    spec_.name = cat("model_", number);
    SchedulerContext context;
    ScheduledInstance scheduled[] = {{&instance_, &spec_}};
    context.instances = scheduled;
    context.clock = &threads.clock();
    context.executors = &threads;
    if (limiter != nullptr) {
      ExecutionDemand demand;
      if (which.resources) demand.resources = {{which.shared ? "R" : cat("R", number), 1, true}};
      admission_ = limiter->add_instance(demand).value();
      admissions_[0] = admission_.get();
      context.admissions = admissions_;
    }
    auto made = provider_.create(context);
    if (!made.ok()) std::abort();
    scheduler_ = std::move(made).value();
  }
  void serve(std::chrono::steady_clock::time_point end) {
    Context context;
    for (executions = 0; std::chrono::steady_clock::now() < end; ++executions) {
      context.begin();
      if (!scheduler_->enqueue(context.request).ok()) std::abort();
      while (context.busy.load(std::memory_order_acquire)) std::this_thread::yield();
    }
  }
  /// A request is released before the scheduler's own bookkeeping for it ends.
  void settle() {
    while (scheduler_->in_flight() != 0) std::this_thread::yield();
  }

  uint64_t executions = 0;

 private:
  Instance instance_;
  InstanceSpec spec_;
  DefaultProvider provider_{DefaultSettings{}};
  std::unique_ptr<AdmittedInstance> admission_;
  AdmittedInstance* admissions_[1] = {};
  std::unique_ptr<Scheduler> scheduler_;
};

/// \returns nanoseconds an execution of one model
double measure(const Case& which, double seconds) {
  test::ThreadExecutors threads;
  admission::RateLimiter limiter({}, threads.clock());
  std::vector<std::unique_ptr<Model>> models;
  for (uint32_t i = 0; i < which.models; ++i) {
    models.push_back(std::make_unique<Model>(which, i, threads, which.limited ? &limiter : nullptr));
  }
  auto length = std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  auto end = std::chrono::steady_clock::now() + length;
  std::vector<std::thread> senders;
  for (auto& model : models) senders.emplace_back([&model, end] { model->serve(end); });
  for (std::thread& sender : senders) sender.join();
  uint64_t executions = 0;
  for (auto& model : models) {
    model->settle();
    executions += model->executions;
  }
  return static_cast<double>(length.count()) * which.models / static_cast<double>(executions);
}

int run(double seconds, int repetitions) {
  std::printf("| case | models | executions/s | ns each |\n|---|---|---|---|\n");
  std::vector<std::vector<double>> runs(std::size(kCases));
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < std::size(kCases); ++i) runs[i].push_back(measure(kCases[i], seconds));
  }
  for (size_t i = 0; i < std::size(kCases); ++i) {
    std::sort(runs[i].begin(), runs[i].end());
    double median = runs[i][runs[i].size() / 2];
    std::printf("| %s | %u | %.0f | %.0f (%.0f to %.0f) |\n", kCases[i].name, kCases[i].models,
                1e9 * kCases[i].models / median, median, runs[i].front(), runs[i].back());
  }
  return 0;
}

}  // namespace
}  // namespace atl::schedulers

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  if (seconds <= 0 || repetitions < 1) {
    std::fprintf(stderr, "usage: admission_bench [SECONDS_EACH] [REPETITIONS]\n");
    return 2;
  }
  return atl::schedulers::run(seconds, repetitions);
}
