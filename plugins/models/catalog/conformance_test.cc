#include <gtest/gtest.h>

#include <thread>

#include "atoll/testing/conformance/model_catalog.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

constexpr std::string_view kConfig = R"(
  backend: "fake"
  input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }
  output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 })";

/// Real threads: the suite reads from several.
struct CatalogOnThreads final : test::CatalogUnderTest {
  CatalogOnThreads() {
    bench.put("alpha", kConfig, {1, 3});
    bench.put("beta", kConfig, {2});
    bench.put("broken", R"(backend: "there_is_no_such_backend_for_broken")");
  }
  ModelCatalog& catalog() override { return bench.catalog(); }
  void settle() override {
    bench.host.run_ready();
    // A version that a request holds stays.
    while (unloading() && bench.plugin->holding().find("request") == std::string::npos)
      std::this_thread::yield();
  }
  test::FakeEventBus& events() override { return bench.host.events(); }

  bool unloading() {
    return bench.plugin->core().lifecycle().read([](const ModelRecords& records) {
      for (const auto& [model, record] : records.all()) {
        for (const auto& [version, state] : record.versions) {
          if (state.state == VersionState::kUnloading) return true;
        }
      }
      return false;
    });
  }

  CatalogBench bench{CatalogBench::Threads::kReal};
};

}  // namespace
}  // namespace atl::models

namespace atl::test {

INSTANTIATE_TEST_SUITE_P(
    Catalog, ModelCatalogConformance,
    ::testing::Values(CatalogProvider{
        "models_catalog", [] { return std::make_shared<models::CatalogOnThreads>(); }, {}}));

}  // namespace atl::test
