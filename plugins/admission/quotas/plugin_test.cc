#include <gtest/gtest.h>

#include "atoll/core/metrics.h"
#include "atoll/request/queue_metrics.h"
#include "atoll/request/request_admission.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::quotas {
namespace {

TEST(QuotasPlugin, ProvidesAdmissionAndMetrics) {
  test::FakeHost host;
  test::PluginRunner plugin(host);
  Status status = plugin.create_and_start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_NE(plugin.query<MetricSource>(), nullptr);
  EXPECT_NE(plugin.query<QueueMetrics>(), nullptr);
  ASSERT_NE(plugin.query<RequestAdmission>(), nullptr);
  EXPECT_FALSE(plugin.query<RequestAdmission>()->active()) << "off by default";
}

TEST(QuotasPlugin, ABadQuotaIsRefused) {
  test::FakeHost host;
  host.options().set_strings("tenants", {"team-a:weight=none"});
  test::PluginRunner plugin(host);
  Status status = plugin.create();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.text().find("option 'tenants'"), std::string::npos) << status.text();
}

TEST(QuotasPlugin, AQuotaMakesItActive) {
  test::FakeHost host;
  host.options().set_strings("tenants", {"team-a:weight=2"});
  test::PluginRunner plugin(host);
  Status status = plugin.create_and_start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_TRUE(plugin.query<RequestAdmission>()->active());
}

}  // namespace
}  // namespace atl::quotas
