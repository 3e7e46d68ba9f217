// The plugin as the server runs it.
#include <gtest/gtest.h>

#include <optional>

#include "atoll/core/metrics.h"
#include "atoll/models/model_router.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/recording_sink.h"
#include "routing/weighted/testing/test_support.h"

namespace atl::routing {
namespace {

class WeightedRoutingTest : public ::testing::Test, protected FourVersions {
 protected:
  WeightedRoutingTest() {
    host_.registry().publish<ModelCatalog>("models", catalog);
    set({});
    host_.options().set_int("max_shadow_requests", 16);
    host_.options().set_bytes("max_shadow_bytes", 1 << 20);
    host_.options().set_int("seed", 7);
  }
  void set(const RouteOptions& options) {
    host_.options().set_map("labels", options.labels);
    host_.options().set_map("weights", options.weights);
    host_.options().set_map("shadows", options.shadows);
  }

  test::FakeHost host_{"routing"};
};

TEST_F(WeightedRoutingTest, ProvidesItsServicesBeforeItStarts) {
  set({{{"m.stable", "2"}}, {{"m.stable", "1"}}, {}});
  test::PluginRunner runner(host_);
  ASSERT_TRUE(runner.create().ok());
  auto* router = runner.query<ModelRouter>();
  ASSERT_NE(router, nullptr);
  EXPECT_NE(runner.query<MetricSource>(), nullptr);
  EXPECT_EQ(runner.query<ModelCatalog>(), nullptr);
  ASSERT_TRUE(runner.start().ok());
  EXPECT_EQ(router->route("m", ModelCatalog::kLatest).value()->info().version, 2);
  runner.stop();
  EXPECT_EQ(host_.registry().holders(), 0U);
}

TEST_F(WeightedRoutingTest, AWrongRouteIsRefusedBeforeAnythingRuns) {
  set({{}, {{"m.stable", "1"}}, {}});
  test::PluginRunner runner(host_);
  Status status = runner.create();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            R"(option 'weights': "m.stable" = "1": 'stable' is neither a version nor a label of model 'm')");
}

TEST_F(WeightedRoutingTest, ARouteOfAModelThatIsNotThereIsTold) {
  set({{}, {{"m.1", "1"}, {"n.1", "1"}}, {}});
  test::PluginRunner runner(host_);
  ASSERT_TRUE(runner.create_and_start().ok());
  const auto records = host_.log().records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].level, LogLevel::kWarning);
  EXPECT_EQ(
      records[0].message,
      "the manifest routes requests for model 'n', and no version of it is ready: its labels, weights and "
      "shadows do nothing until one is");
  runner.stop();
}

TEST_F(WeightedRoutingTest, WithoutACatalogItDoesNotStart) {
  host_.registry().withdraw(std::string(ModelCatalog::kInterfaceId), "models");
  test::PluginRunner runner(host_);
  ASSERT_TRUE(runner.create().ok());
  EXPECT_EQ(runner.start().code(), Code::kNotFound);
}

TEST_F(WeightedRoutingTest, ShadowsUnderWayKeepItUntilTheyEnd) {
  set({{}, {}, {{"m.2", "1"}}});
  test::PluginRunner runner(host_);
  ASSERT_TRUE(runner.create_and_start().ok());
  Request* held = nullptr;
  models[2]->respond = [&](Request& request) { held = &request; };
  {
    test::TestRequest request("a");
    request.add_raw_input("INPUT0", DataType::kFp32, {1}, "1234");
    ModelRef model = std::move(runner.query<ModelRouter>()->route("m", 1)).value();
    ASSERT_TRUE(request.infer(*model.get()).ok());
  }
  host_.run_until_idle();
  ASSERT_NE(held, nullptr);
  runner.drain(0);
  EXPECT_EQ(host_.gate().count(), 1);
  test::answer_identity(*held);
  (void)held->release().ok();
  EXPECT_EQ(host_.gate().count(), 0);
}

}  // namespace
}  // namespace atl::routing
