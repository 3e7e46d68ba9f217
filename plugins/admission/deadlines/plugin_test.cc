#include <gtest/gtest.h>

#include "atoll/core/metrics.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/request_admission.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::deadlines {
namespace {

TEST(DeadlinesPlugin, ProvidesBothAdmissionsAndMetrics) {
  test::FakeHost host;
  test::PluginRunner plugin(host);
  Status status = plugin.create_and_start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_NE(plugin.query<MetricSource>(), nullptr);
  ASSERT_NE(plugin.query<RequestAdmission>(), nullptr);
  EXPECT_TRUE(plugin.query<RequestAdmission>()->active());
  ASSERT_NE(plugin.query<ExecutionAdmission>(), nullptr);
  auto instance = plugin.query<ExecutionAdmission>()->add_instance({});
  ASSERT_TRUE(instance.ok());
  EXPECT_TRUE((*instance)->follows_queue());
}

}  // namespace
}  // namespace atl::deadlines
