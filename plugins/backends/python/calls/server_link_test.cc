#include "backends/python/calls/server_link.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_model_control.h"
#include "atoll/testing/followed_fake.h"

namespace atl::python {
namespace {

TEST(ServerLink, FollowsCatalogAndControl) {
  test::FakeHost host;
  test::FakeModelCatalog catalog;
  test::FakeModelControl control;
  test::FakeServedModel& model = catalog.add_identity("m");
  ServerLink link(host);
  ASSERT_TRUE(link.open().ok());
  EXPECT_EQ(link.acquire("m", ModelCatalog::kLatest).status().text(),
            "no plugin provides atoll.model_catalog/1");
  EXPECT_FALSE(link.with_control([](ModelControl&) {}));
  host.registry().publish<ModelCatalog>("models", catalog);
  test::publish_service_changed(host, ModelCatalog::kInterfaceId, "models");
  host.registry().publish<ModelControl>("control", control);
  test::publish_service_changed(host, ModelControl::kInterfaceId, "control");
  {
    Result<HeldModel> held = link.acquire("m", ModelCatalog::kLatest);
    ASSERT_TRUE(held.ok()) << held.status().text();
    EXPECT_EQ(model.references(), 1);
    EXPECT_EQ(host.gate().count(), 1);
    EXPECT_TRUE(link.with_control([](ModelControl& found) { EXPECT_EQ(found.mode(), "explicit"); }));
  }
  EXPECT_EQ(model.references(), 0);
  EXPECT_EQ(host.gate().count(), 0);
  host.registry().withdraw(std::string(ModelCatalog::kInterfaceId), "models");
  test::publish_service_changed(host, ModelCatalog::kInterfaceId, "models");
  EXPECT_FALSE(link.acquire("m", ModelCatalog::kLatest).ok());
  link.close();
  EXPECT_EQ(host.registry().holders(), 0u);
}

TEST(ServerLink, NothingBeginsOnceThePluginEnds) {
  test::FakeHost host;
  test::FakeModelCatalog catalog;
  catalog.add_identity("m");
  host.registry().publish<ModelCatalog>("models", catalog);
  ServerLink link(host);
  ASSERT_TRUE(link.open().ok());
  host.gate().close();
  EXPECT_EQ(link.acquire("m", ModelCatalog::kLatest).status().text(), "Server exiting");
  link.close();
}

}  // namespace
}  // namespace atl::python
