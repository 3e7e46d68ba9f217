#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/scheduler.h"
#include "atoll/testing/fake_backend.h"
#include "model_config.pb.h"
#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/dynamic/dynamic_provider.h"

namespace atl::test {
namespace {

SchedulerProviderUnderTest provider(std::string name, std::string_view batching, int64_t light_execution_ns) {
  SchedulerProviderUnderTest under_test;
  under_test.name = std::move(name);
  under_test.max_batch_size = 8;
  under_test.queue_policies = true;
  under_test.sheds_late_requests = batching.find("latency_target") != std::string_view::npos;
  under_test.config = schedulers::config_bytes(cat("max_batch_size: 8 ", batching));
  under_test.keeps_to_room = true;
  under_test.is_operated = true;
  under_test.make = [light_execution_ns](FakeHost& host) {
    schedulers::DynamicSettings settings;
    settings.dispatcher.light_execution_ns = light_execution_ns;
    return std::make_shared<schedulers::DynamicProvider>(settings, host.log());
  };
  return under_test;
}

constexpr std::string_view kPlain = "dynamic_batching { preferred_batch_size: 8 }";
constexpr std::string_view kDelayed =
    "dynamic_batching { preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 700 }";
constexpr std::string_view kOrdered =
    "dynamic_batching { preferred_batch_size: 4 max_queue_delay_microseconds: 100 preserve_ordering: true }";
constexpr std::string_view kLevels =
    "dynamic_batching { preferred_batch_size: 8 priority_levels: 3 default_priority_level: 2 }";
constexpr std::string_view kTarget =
    "dynamic_batching { } parameters { key: 'latency_target_microseconds' value { string_value: '1000000' } "
    "}";

INSTANTIATE_TEST_SUITE_P(Dynamic, SchedulerConformance,
                         ::testing::Values(provider("plain", kPlain, 100 * kNsPerUs),
                                           provider("never_inline", kPlain, 0),
                                           provider("always_inline", kPlain, INT64_MAX),
                                           provider("delayed", kDelayed, 100 * kNsPerUs),
                                           provider("ordered", kOrdered, 100 * kNsPerUs),
                                           provider("levels", kLevels, 0),
                                           provider("latency_target", kTarget, 100 * kNsPerUs)),
                         [](const auto& param) { return param.param.name; });

/// One model after the other that has a latency target.
class TargetedModels final : public MetricSourceUnderTest {
 public:
  MetricSource& source() override { return provider_; }
  void use() override {
    const std::string model = cat("m", schedulers_.size());
    const std::string config = schedulers::config_bytes(cat("max_batch_size: 8 ", kTarget));
    const ScheduledInstance scheduled[] = {{&instance_, &spec_}};
    SchedulerContext context;
    context.model_name = model;
    context.model_version = 1;
    context.config = config;
    context.max_batch_size = 8;
    context.instances = scheduled;
    context.executors = &host_.executors();
    context.clock = &host_.clock();
    auto made = provider_.create(context);
    ASSERT_TRUE(is_ok(made));
    schedulers_.push_back(std::move(made).value());
  }

 private:
  FakeHost host_;
  FakeBehavior behavior_;
  FakeInstance instance_{"i", behavior_, host_.clock()};
  InstanceSpec spec_;
  schedulers::DynamicProvider provider_{{}, host_.log()};
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
};

INSTANTIATE_TEST_SUITE_P(Dynamic, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "dynamic", [] { return std::make_shared<TargetedModels>(); }, {}}));

}  // namespace
}  // namespace atl::test
