#include "atoll/testing/conformance/model_control.h"
#include "atoll/testing/conformance/model_demand.h"
#include "atoll/testing/fake_repository.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::test {
namespace {

/// The plugin over a repository of one model.
struct StartedOnDemand {
  explicit StartedOnDemand(FakeHost& given) : host(given), plugin(given) {
    repository.put("alpha");
    host.registry().publish<Repository>("repository", repository);
    plugin.set("unload_after", "0s").set("interval", "0s").set("max_wait", "60s");
    EXPECT_TRUE(is_ok(plugin.create_and_start()));
  }
  ~StartedOnDemand() {
    plugin.drain(0);
    host.run_ready();
    while (host.gate().count() != 0) std::this_thread::yield();
    plugin.stop();
  }
  FakeHost& host;
  FakeRepository repository;
  PluginRunner plugin;
};

/// One of the services of a plugin that is started.
template <class Interface>
std::shared_ptr<Interface> make(FakeHost& host) {
  auto started = std::make_shared<StartedOnDemand>(host);
  return {started, started->plugin.query<Interface>()};
}

INSTANTIATE_TEST_SUITE_P(OnDemand, ModelControlConformance,
                         ::testing::Values(ModelControlProvider{
                             "on_demand", make<ModelControl>, "on_demand", {}}));
INSTANTIATE_TEST_SUITE_P(OnDemand, ModelDemandConformance,
                         ::testing::Values(ModelDemandProvider{
                             "on_demand", make<ModelDemand>, 60 * kNsPerSecond, {}}));

}  // namespace
}  // namespace atl::test
