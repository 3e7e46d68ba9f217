/// The suites that every scheduler of sequences runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/scheduler.h"
#include "schedulers/common/sequence/sequence_provider.h"
#include "schedulers/common/testing/config_bytes.h"

namespace atl::test {

/// \param batching  the fields of sequence_batching
template <class Provider>
SchedulerProviderUnderTest sequence_provider(std::string name, std::string_view batching,
                                             int64_t light_execution_ns, uint32_t max_batch_size = 4) {
  SchedulerProviderUnderTest under_test;
  under_test.name = std::move(name);
  under_test.max_batch_size = max_batch_size;
  under_test.config = schedulers::config_bytes(
      cat("max_batch_size: ", max_batch_size, " sequence_batching { ", batching, " }"));
  under_test.binds_to_instances = under_test.keeps_to_room = under_test.is_operated = true;
  under_test.exceptions = {unsupported("WithoutAQueuePolicyATimeoutMeansNothing",
                                       "a sequence in the backlog has the shortest timeout of its requests")};
  under_test.make = [light_execution_ns](FakeHost& host) {
    schedulers::SequenceProviderSettings settings;
    settings.dispatcher.light_execution_ns = light_execution_ns;
    static schedulers::StateMemory heap;
    settings.log = &host.log();
    settings.clock = &host.clock();
    settings.state_memory = &heap;
    return std::make_shared<Provider>(settings);
  };
  return under_test;
}

/// One model with sequences after the other.
template <class Provider>
class SequenceModels final : public MetricSourceUnderTest {
 public:
  MetricSource& source() override { return provider_; }
  void use() override {
    const std::string model = cat("m", schedulers_.size());
    const std::string config = schedulers::config_bytes("sequence_batching { }");
    const ScheduledInstance scheduled[] = {{&instance_, &spec_}};
    SchedulerContext context;
    context.model_name = model;
    context.model_version = 1;
    context.config = config;
    context.instances = scheduled;
    context.executors = &host_.executors();
    context.clock = &host_.clock();
    auto made = provider_.create(context);
    ASSERT_TRUE(is_ok(made));
    schedulers_.push_back(std::move(made).value());
  }

 private:
  schedulers::SequenceProviderSettings settings() {
    schedulers::SequenceProviderSettings made;
    made.clock = &host_.clock();
    made.state_memory = &memory_;
    return made;
  }

  FakeHost host_;
  schedulers::StateMemory memory_;
  FakeBehavior behavior_;
  FakeInstance instance_{"i", behavior_, host_.clock()};
  InstanceSpec spec_;
  Provider provider_{settings()};
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
};

}  // namespace atl::test
