/// The plugin in this process, a catalog of fake models behind it, and its service.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/triton/server.h"

namespace atl::frontends::c_api {

class CApiTest : public ::testing::Test {
 protected:
  CApiTest() { host_.registry().publish<ModelCatalog>("models", catalog_); }
  ~CApiTest() override {
    runner_.stop();
    EXPECT_EQ(host_.gate().count(), 0);
    EXPECT_EQ(host_.registry().holders(), 0u);
    EXPECT_EQ(host_.events().subscriptions(), 0u);
  }

  void start() {
    Status status = runner_.create_and_start();
    ASSERT_TRUE(status.ok()) << status.text();
    server_ = runner_.query<TRITONSERVER_Server>();
    ASSERT_NE(server_, nullptr);
  }
  template <class Interface>
  void put(Interface& implementation) {
    host_.registry().publish<Interface>("provider", implementation);
    test::publish_service_changed(host_, Interface::kInterfaceId, "provider");
  }
  template <class Interface>
  void take_away() {
    host_.registry().withdraw(std::string(Interface::kInterfaceId), "provider");
    test::publish_service_changed(host_, Interface::kInterfaceId, "provider");
  }

  test::FakeModelCatalog catalog_;
  test::FakeHost host_{"c_api"};
  test::PluginRunner runner_{host_};
  TRITONSERVER_Server* server_ = nullptr;
};

/// "OK", or what failed.
inline std::string text_of(const Status& status) {
  return status.ok() ? "OK" : cat(code_name(status.code()), ": ", status.message());
}
template <class Value>
std::string text_of(const Result<Value>& result) {
  return text_of(result.status());
}

}  // namespace atl::frontends::c_api
