// The suites of the services, with every kind of route.
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/model_router.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::test {
namespace {

/// The plugin, with real threads, over a catalog.
struct StartedRouting {
  StartedRouting(ModelCatalog& catalog, std::string_view weights, std::string_view shadows)
      : host("routing", FakeHost::Threads::kReal), plugin(host) {
    host.registry().publish<ModelCatalog>("models", catalog);
    plugin.set("labels", R"({ "alpha.stable" = "2" })").set("seed", "7");
    plugin.set("weights", weights).set("shadows", shadows);
    EXPECT_TRUE(is_ok(plugin.create_and_start()));
  }
  ~StartedRouting() {
    plugin.drain(0);
    while (host.gate().count() != 0) std::this_thread::yield();  // shadows end
    plugin.stop();
  }
  FakeHost host;
  PluginRunner plugin;
};

ModelRouterProvider router(std::string name, std::string_view weights, std::string_view shadows) {
  ModelRouterProvider provider;
  provider.name = std::move(name);
  provider.make = [weights, shadows](ModelCatalog& catalog) {
    auto made = std::make_shared<StartedRouting>(catalog, weights, shadows);
    return std::shared_ptr<ModelRouter>(made, made->plugin.query<ModelRouter>());
  };
  return provider;
}

constexpr std::string_view kWeights = R"({ "alpha.stable" = "3", "alpha.1" = "1", "alpha.3" = "0" })";
constexpr std::string_view kShadows = R"({ "alpha.3" = "1", "alpha.1" = "0.5" })";

INSTANTIATE_TEST_SUITE_P(Weighted, ModelRouterConformance,
                         ::testing::Values(router("labels", "{}", "{}"), router("weights", kWeights, "{}"),
                                           router("shadows", "{}", kShadows),
                                           router("weights and shadows", kWeights, kShadows)));

/// One request after the other, each with a shadow.
class ShadowedRequests final : public MetricSourceUnderTest {
 public:
  ShadowedRequests() {
    for (int64_t version = 1; version <= 3; ++version) {
      catalog_.add_identity("alpha", DataType::kFp32, 0, version);
    }
    routing_.emplace(catalog_, "{}", kShadows);
  }
  MetricSource& source() override { return *routing_->plugin.query<MetricSource>(); }
  void use() override {
    Result<ModelRef> model = routing_->plugin.query<ModelRouter>()->route("alpha", 2);
    ASSERT_TRUE(is_ok(model));
    TestRequest request;
    request.add_input<float>("INPUT0", DataType::kFp32, {1}, {1});
    ASSERT_TRUE(is_ok(request.infer(*model->get())));
    model->reset();
    while (routing_->host.gate().count() != 0) std::this_thread::yield();
  }

 private:
  FakeModelCatalog catalog_;
  std::optional<StartedRouting> routing_;
};

INSTANTIATE_TEST_SUITE_P(Weighted, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "weighted", [] { return std::make_shared<ShadowedRequests>(); }, {}}));

}  // namespace
}  // namespace atl::test
