#include "atoll/testing/conformance/response_cache.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::test {
namespace {

std::shared_ptr<ResponseCache> make(FakeHost& host) {
  auto plugin = std::make_shared<PluginRunner>(host);
  EXPECT_TRUE(is_ok(plugin->create_and_start()));
  return {plugin, plugin->query<ResponseCache>()};
}
INSTANTIATE_TEST_SUITE_P(Fixture, ResponseCacheConformance,
                         ::testing::Values(ResponseCacheProvider{"fixture", make, {}}));

}  // namespace
}  // namespace atl::test
