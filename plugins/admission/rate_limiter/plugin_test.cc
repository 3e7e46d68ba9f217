#include <gtest/gtest.h>

#include "atoll/core/metrics.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/queue_metrics.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::admission {
namespace {

TEST(RateLimiterPlugin, ProvidesAdmissionAndMetrics) {
  test::FakeHost host;
  host.options().set_strings("resources", {"R1:2"});
  test::PluginRunner plugin(host);
  Status status = plugin.create_and_start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_NE(plugin.query<ExecutionAdmission>(), nullptr);
  EXPECT_NE(plugin.query<MetricSource>(), nullptr);
  EXPECT_NE(plugin.query<QueueMetrics>(), nullptr);

  ExecutionDemand demand;
  demand.resources = {{"R1", 3, false}};
  EXPECT_FALSE(plugin.query<ExecutionAdmission>()->add_instance(demand).ok()) << "the option counts";
}

TEST(RateLimiterPlugin, ABadOptionIsRefused) {
  test::FakeHost host;
  host.options().set_strings("resources", {"R1"});
  test::PluginRunner plugin(host);
  Status status = plugin.create();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.text().find("option 'resources'"), std::string::npos) << status.text();
}

}  // namespace
}  // namespace atl::admission
