/// A scheduler over fake instances in a simulation.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "atoll/request/scheduler.h"
#include "atoll/testing/fake_admission.h"
#include "atoll/testing/fake_backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {

class SchedulerBench {
 public:
  using MakeProvider = std::function<std::shared_ptr<SchedulerProvider>(test::FakeHost&)>;

  /// \param config  serialized, of a model with that max_batch_size
  SchedulerBench(uint32_t instance_count, const MakeProvider& make, std::string config = {},
                 uint32_t max_batch_size = 0, test::FakeAdmission* admission = nullptr)
      : specs_(instance_count), config_(std::move(config)), max_batch_size_(max_batch_size) {
    for (uint32_t i = 0; i < instance_count; ++i) {
      specs_[i].name = cat("test_", i);
      instances.push_back(std::make_unique<test::FakeInstance>(specs_[i].name, behavior, host.clock(),
                                                               &host.fake_clock(), &reporter));
      scheduled_.push_back({instances[i].get(), &specs_[i]});
      if (admission == nullptr) continue;
      ExecutionDemand demand;
      demand.resources = {{"R1", 1, false}};
      owned_admissions_.push_back(admission->add_instance(demand).value());
      admissions_.push_back(owned_admissions_.back().get());
    }
    provider = make(host);
    auto made = provider->create(context());
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (made.ok()) scheduler = std::move(made).value();
  }
  SchedulerContext context() {
    SchedulerContext context;
    context.model_name = "test";
    context.model_version = 1;
    context.config = config_;
    context.max_batch_size = max_batch_size_;
    context.instances = scheduled_;
    context.admissions = admissions_;
    context.reporter = &reporter;
    context.clock = &host.clock();
    context.executors = &host.executors();
    return context;
  }
  /// A request that is not enqueued yet.
  test::TestRequest& add() {
    requests.push_back(std::make_unique<test::TestRequest>(cat("r", requests.size())));
    requests.back()->add_input<float>("INPUT0", DataType::kFp32, {1}, {1.0f});
    return *requests.back();
  }
  test::TestRequest& enqueue() {
    test::TestRequest& request = add();
    Status status = request.enqueue(*scheduler);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  /// So many executions one after the other, so that the instances' speed is known.
  void warm_up(int executions) {
    for (int i = 0; i < executions; ++i) {
      enqueue();
      host.run_until_idle();
    }
  }
  void expect_all_done() {
    for (auto& request : requests) {
      EXPECT_TRUE(request->done()) << request->request().id;
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
      EXPECT_EQ(reporter.of(std::string(request->request().id)).total(), 1u);
    }
    EXPECT_EQ(scheduler->in_flight(), 0u);
    for (auto& instance : instances) EXPECT_EQ(instance->overlaps(), 0u);
  }

  test::FakeHost host{"scheduler"};
  test::FakeBehavior behavior;
  test::RecordingReporter reporter;

 private:
  std::vector<InstanceSpec> specs_;
  std::string config_;
  uint32_t max_batch_size_;
  std::vector<ScheduledInstance> scheduled_;
  std::vector<std::unique_ptr<AdmittedInstance>> owned_admissions_;
  std::vector<AdmittedInstance*> admissions_;

 public:
  std::vector<std::unique_ptr<test::FakeInstance>> instances;
  std::vector<std::unique_ptr<test::TestRequest>> requests;
  std::shared_ptr<SchedulerProvider> provider;
  std::unique_ptr<Scheduler> scheduler;
};

}  // namespace atl::schedulers
