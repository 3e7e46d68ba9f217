#include "atoll/memory/request_memory.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::test {
namespace {

/// The plugin, with a budget that is used up after a while.
class StartedHostMemory final : public MetricSourceUnderTest {
 public:
  StartedHostMemory() { EXPECT_TRUE(is_ok(plugin_.set("request_budget", "30KiB").create_and_start())); }
  MetricSource& source() override { return *plugin_.query<MetricSource>(); }
  void use() override { (void)plugin_.query<RequestMemory>()->budget()->try_reserve(1024); }

 private:
  FakeHost host_{"host"};
  PluginRunner plugin_{host_};
};

INSTANTIATE_TEST_SUITE_P(HostMemory, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "host", [] { return std::make_shared<StartedHostMemory>(); }, {}}));

}  // namespace
}  // namespace atl::test
