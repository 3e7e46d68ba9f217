#include "atoll/testing/conformance/scheduler.h"
#include "schedulers/default/default_provider.h"

namespace atl::test {
namespace {

SchedulerProviderUnderTest provider(std::string name, int64_t light_execution_ns) {
  SchedulerProviderUnderTest under_test;
  under_test.name = std::move(name);
  under_test.keeps_to_room = true;
  under_test.is_operated = true;
  under_test.make = [light_execution_ns](FakeHost&) {
    schedulers::DefaultSettings settings;
    settings.dispatcher.light_execution_ns = light_execution_ns;
    return std::make_shared<schedulers::DefaultProvider>(settings);
  };
  return under_test;
}

INSTANTIATE_TEST_SUITE_P(Default, SchedulerConformance,
                         ::testing::Values(provider("default", 100 * kNsPerUs), provider("never_inline", 0),
                                           provider("always_inline", INT64_MAX)),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace atl::test
