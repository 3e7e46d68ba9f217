/// The bench of the scheduler suite: a scheduler over fake instances and its requests.
#pragma once

#include <memory>

#include "atoll/request/scheduler.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_admission.h"
#include "atoll/testing/fake_backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

struct SchedulerProviderUnderTest {
  std::string name;
  std::function<std::shared_ptr<SchedulerProvider>(FakeHost&)> make;
  /// Serialized inference.ModelConfig of a model this scheduler serves. The suite adds the input "INPUT0",
  /// TYPE_INT64, of one variable dimension.
  std::string config;
  uint32_t max_batch_size = 0;  ///< of that configuration
  /// Adds what the scheduler needs to a request; default: request n is a whole sequence of its own, number
  /// n+1.
  std::function<void(TestRequest&, uint64_t n)> prepare;
  std::vector<ConformanceException> exceptions;
  /// False: create() refuses a model whose executions have to be admitted.
  bool asks_for_admission = true;
  /// Follows dynamic_batching.default_queue_policy; false: requests have no timeouts.
  bool queue_policies = false;
  bool sheds_late_requests = false;  ///< refuses with UNAVAILABLE what it expects to be late
  bool binds_to_instances = false;   ///< a request is executed by one particular instance
  bool is_operated = false;    ///< is of SchedulerProvider::kOperatedMinor: describes, cancels and drains
  bool keeps_to_room = false;  ///< gives instances that answer later no more than they have room for
  friend void PrintTo(const SchedulerProviderUnderTest& provider, std::ostream* out) {
    *out << provider.name;
  }
};

/// Pieces of serialized inference.ModelConfig, which add to what they are appended to.
struct ConfigBytes {
  /// input { name: "INPUT0" data_type: TYPE_INT64 dims: -1 }
  static std::string variable_input() {
    return std::string("\x2a\x16\x0a\x06INPUT0\x10\x09\x22\x0a", 14) + std::string(9, '\xff') + '\x01';
  }
  /// dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 5000
  /// allow_timeout_override: true } }
  static std::string queue_policy() { return std::string("\x5a\x07\x32\x05\x10\x88\x27\x18\x01", 9); }
};

class SchedulerConformance : public Conformance<SchedulerProviderUnderTest> {
 protected:
  using Requests = std::vector<std::unique_ptr<TestRequest>>;

  /// A scheduler over fake instances; everything ends in the order that the interface demands.
  struct Bench {
    Bench(const SchedulerProviderUnderTest& param, uint32_t instance_count, FakeHost::Threads threads,
          uint64_t seed, FakeAdmission* admission = nullptr, const std::string& more_config = {},
          uint32_t capacity = 0)
        : param_(param),
          config(param.config + ConfigBytes::variable_input() + more_config),
          host("scheduler", threads, seed) {
      behavior.capacity = capacity;
      bool real = threads == FakeHost::Threads::kReal;
      for (uint32_t i = 0; i < instance_count; ++i) {
        specs.push_back({});
        specs.back().name = cat("test_", i);
        instances.push_back(std::make_unique<FakeInstance>(specs.back().name, behavior, host.clock(),
                                                           real ? nullptr : &host.fake_clock(), &reporter));
      }
      for (uint32_t i = 0; i < instance_count; ++i) scheduled.push_back({instances[i].get(), &specs[i]});
      for (uint32_t i = 0; admission != nullptr && i < instance_count; ++i) {
        owned_admissions.push_back(
            admission->add_instance({"test", 1, specs[i].name, 0, 0, {{"R", 1, false}}}).value());
        admissions.push_back(owned_admissions.back().get());
      }
      provider = param.make(host);
      SchedulerContext context;
      context.model_name = "test";
      context.model_version = 1;
      context.config = config;
      context.max_batch_size = param.max_batch_size;
      context.instances = scheduled;
      context.reporter = &reporter;
      context.clock = &host.clock();
      context.executors = &host.executors();
      context.admissions = admissions;
      auto made = provider->create(context);
      created = made.status().clone();
      if (made.ok()) scheduler = std::move(made).value();
    }
    ~Bench() {
      scheduler.reset();
      provider.reset();
    }
    /// \param width  so many values, all of them the request's number
    TestRequest& add(int64_t width = 1) {
      uint64_t n = requests.size();
      requests.push_back(std::make_unique<TestRequest>(cat("r", n)));
      fill(*requests.back(), n, width);
      return *requests.back();
    }
    void fill(TestRequest& request, uint64_t n, int64_t width = 1) const {
      if (param_.prepare) {
        param_.prepare(request, n);
      } else {
        request->sequence.number = n + 1;
        request->sequence_flags = kSequenceStart | kSequenceEnd;
      }
      request->batch_size = param_.max_batch_size == 0 ? 0 : 1;
      std::vector<int64_t> shape =
          param_.max_batch_size == 0 ? std::vector<int64_t>{width} : std::vector<int64_t>{1, width};
      request.add_input<int64_t>("INPUT0", DataType::kInt64, shape,
                                 std::vector<int64_t>(static_cast<size_t>(width), static_cast<int64_t>(n)));
      request.add_output("OUTPUT0");  // and not what a scheduler adds to the inputs
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
    const std::string config;
    FakeHost host;
    FakeBehavior behavior;
    RecordingReporter reporter;
    std::vector<InstanceSpec> specs;
    std::vector<std::unique_ptr<FakeInstance>> instances;
    std::vector<ScheduledInstance> scheduled;
    std::vector<std::unique_ptr<AdmittedInstance>> owned_admissions;
    std::vector<AdmittedInstance*> admissions;
    Status created;
    Requests requests;
    std::shared_ptr<SchedulerProvider> provider;
    std::unique_ptr<Scheduler> scheduler;
  };

  /// What still holds a request cannot be torn down: a scheduler that lost one is left as it is.
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
    return checked(BenchPtr(new Bench(GetParam(), instances, threads, seed)));
  }
  /// Whose executions have to be admitted; it may have been refused.
  BenchPtr make_admitted(FakeAdmission& admission) const {
    return BenchPtr(new Bench(GetParam(), 2, FakeHost::Threads::kSimulated, 1, &admission));
  }
  BenchPtr make_with(const std::string& more_config) const {
    return checked(
        BenchPtr(new Bench(GetParam(), 1, FakeHost::Threads::kSimulated, 1, nullptr, more_config)));
  }
  /// Whose instance takes so much at a time and answers later.
  BenchPtr make_with_room(uint32_t capacity) const {
    return checked(
        BenchPtr(new Bench(GetParam(), 1, FakeHost::Threads::kSimulated, 1, nullptr, {}, capacity)));
  }
  static BenchPtr checked(BenchPtr bench) {
    EXPECT_TRUE(is_ok(bench->created)) << "create";
    return bench;
  }
  static bool has_own_data(const TestRequest& request, uint64_t n) {
    const ReceivedResponse response = request.response();
    return response.outputs.size() == 1 &&
           values_of<int64_t>(response.outputs[0].bytes) == std::vector{static_cast<int64_t>(n)};
  }
};

}  // namespace atl::test
