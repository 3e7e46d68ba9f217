/// The bench of the scheduler suite: a scheduler over fake instances and its requests.
#pragma once

#include <memory>

#include "atoll/scheduler.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

struct SchedulerProviderUnderTest {
  std::string name;
  std::function<std::shared_ptr<SchedulerProvider>(FakeHost&)> make;
  std::string config;           ///< serialized inference.ModelConfig of a model this scheduler serves
  uint32_t max_batch_size = 0;  ///< of that configuration
  /// Adds what the scheduler needs to a request; default: request n is a whole sequence of its own, number
  /// n+1.
  std::function<void(TestRequest&, uint64_t n)> prepare;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const SchedulerProviderUnderTest& provider, std::ostream* out) {
    *out << provider.name;
  }
};

class SchedulerConformance : public Conformance<SchedulerProviderUnderTest> {
 protected:
  using Requests = std::vector<std::unique_ptr<TestRequest>>;

  /// A scheduler over fake instances; everything ends in the order that the interface demands.
  struct Bench {
    Bench(const SchedulerProviderUnderTest& param, uint32_t instance_count, FakeHost::Threads threads,
          uint64_t seed)
        : param_(param), host("scheduler", threads, seed) {
      bool real = threads == FakeHost::Threads::kReal;
      for (uint32_t i = 0; i < instance_count; ++i) {
        specs.push_back({});
        specs.back().name = cat("test_", i);
        instances.push_back(std::make_unique<FakeInstance>(specs.back().name, behavior, host.clock(),
                                                           real ? nullptr : &host.fake_clock(), &reporter));
      }
      for (uint32_t i = 0; i < instance_count; ++i) scheduled.push_back({instances[i].get(), &specs[i]});
      provider = param.make(host);
      SchedulerContext context;
      context.model_name = "test";
      context.model_version = 1;
      context.config = param.config;
      context.max_batch_size = param.max_batch_size;
      context.instances = scheduled;
      context.reporter = &reporter;
      context.clock = &host.clock();
      context.executors = &host.executors();
      auto made = provider->create(context);
      if (made.ok()) {
        scheduler = std::move(made).value();
      } else {
        ADD_FAILURE() << "create: " << made.status().text();
      }
    }
    ~Bench() {
      scheduler.reset();
      provider.reset();
    }
    TestRequest& add() {
      uint64_t n = requests.size();
      requests.push_back(std::make_unique<TestRequest>(cat("r", n)));
      fill(*requests.back(), n);
      return *requests.back();
    }
    void fill(TestRequest& request, uint64_t n) const {
      if (param_.prepare) {
        param_.prepare(request, n);
      } else {
        request->sequence.number = n + 1;
        request->sequence_flags = kSequenceStart | kSequenceEnd;
      }
      request->batch_size = param_.max_batch_size == 0 ? 0 : 1;
      std::vector<int64_t> shape =
          param_.max_batch_size == 0 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 1};
      request.add_input<int64_t>("INPUT0", DataType::kInt64, shape, {static_cast<int64_t>(n)});
    }
    /// Every accepted request: one final, one release, counted once, nothing else.
    void expect_all_done() {
      for (auto& request : requests) expect_done(*request);
      EXPECT_EQ(scheduler->in_flight(), 0u);
      for (auto& instance : instances)
        EXPECT_EQ(instance->overlaps(), 0u) << instance->name() << " was entered twice at once";
    }
    void expect_done(TestRequest& request) {
      std::string id(request->id);
      EXPECT_TRUE(request.done()) << id << ": final " << request.got_final() << ", released "
                                  << request.got_release();
      for (const std::string& problem : request.problems()) ADD_FAILURE() << id << ": " << problem;
      EXPECT_EQ(reporter.of(id).total(), 1u) << id << ": every request is counted exactly once";
    }
    void run() { host.run_until_idle(); }

    const SchedulerProviderUnderTest& param_;
    FakeHost host;
    FakeBehavior behavior;
    RecordingReporter reporter;
    std::vector<InstanceSpec> specs;
    std::vector<std::unique_ptr<FakeInstance>> instances;
    std::vector<ScheduledInstance> scheduled;
    Requests requests;
    std::shared_ptr<SchedulerProvider> provider;
    std::unique_ptr<Scheduler> scheduler;
  };

  /// What still holds a request can not be torn down: a scheduler that lost one is left as it is.
  struct Deleter {
    void operator()(Bench* bench) const {
      for (auto& request : bench->requests) {
        if (request->accepted() && !request->done())
          return ADD_FAILURE() << "requests were lost; nothing is freed", void();
      }
      delete bench;
    }
  };
  using BenchPtr = std::unique_ptr<Bench, Deleter>;

  BenchPtr make(uint32_t instances = 1, FakeHost::Threads threads = FakeHost::Threads::kSimulated,
                uint64_t seed = 1) const {
    return BenchPtr(new Bench(GetParam(), instances, threads, seed));
  }
  static bool has_own_data(const TestRequest& request, uint64_t n) {
    ReceivedResponse response = request.response();
    return response.outputs.size() == 1 &&
           values_of<int64_t>(response.outputs[0].bytes) == std::vector{static_cast<int64_t>(n)};
  }
};

}  // namespace atl::test
