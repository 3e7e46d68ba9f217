#include "pools/leases/api/pool_metrics.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/recorded_metrics.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

/// Pools whose events the metrics count.
class CountedPools final : public test::MetricSourceUnderTest {
 public:
  CountedPools() {
    bench.watcher = &metrics;
    (void)bench.create_pool("p", 8, 2, 0, false);
    refresh();
  }
  virtual ~CountedPools() { bench.stop(); }
  MetricSource& source() override { return metrics; }
  void use() override {
    (void)bench.acquire(PoolBench::lease(1, {cat("m", ++models)}));
    refresh();
  }
  void refresh() {
    bench.run([&] { metrics.refresh(bench.manager->book(), bench.clock.wall_ns()); });
  }
  std::map<std::string, double> values() {
    refresh();
    return test::RecordedMetrics(metrics).values();
  }

  PoolMetrics metrics;
  PoolBench bench;
  int models = 0;
};

TEST(PoolMetrics, ShowWhatThereIsAndCountWhatHappened) {
  CountedPools pools;
  PoolBench& bench = pools.bench;
  const std::string id = bench.deploy(PoolBench::lease(3, {"a"}, 60 * kNsPerSecond));
  (void)bench.deploy(PoolBench::lease(6, {"b"}, 10 * kNsPerSecond));
  (void)bench.acquire(PoolBench::lease(6, {"c"}));
  (void)bench.acquire(PoolBench::lease(9, {"c"}));
  auto values = pools.values();
  EXPECT_EQ(values["atoll_pool_instances{pool=p,state=READY}"], 2);
  EXPECT_EQ(values["atoll_pool_instances{pool=p,state=FAILED}"], 0);
  EXPECT_EQ(values["atoll_pool_quota_capacity{pool=p}"], 16);
  EXPECT_EQ(values["atoll_pool_quota_used{pool=p}"], 9);
  EXPECT_EQ(values["atoll_pool_largest_free{pool=p}"], 5);
  EXPECT_EQ(values[cat("atoll_lease_seconds_to_expiry{pool=p,lease=", id, "}")], 54);
  EXPECT_EQ(values["atoll_lease_created_total"], 2);
  EXPECT_EQ(values["atoll_lease_refused_total{reason=RESOURCE_EXHAUSTED}"], 1);
  EXPECT_EQ(values["atoll_lease_refused_total{reason=INVALID_ARGUMENT}"], 1);
  bench.run([&] { EXPECT_TRUE(bench.manager->renew(id, {}).ok()); });
  bench.servers.kill("p", 0);
  bench.run_for(20 * kNsPerSecond);
  (void)bench.release(id);
  bench.run_for(kNsPerSecond);
  values = pools.values();
  EXPECT_EQ(values["atoll_lease_created_total"], 2) << "one that moved is none that was made";
  EXPECT_EQ(values["atoll_lease_deploy_seconds_count"], 3) << "two, and the one that moved";
  EXPECT_EQ(values["atoll_lease_renewed_total{by=client}"], 1);
  EXPECT_EQ(values["atoll_lease_expired_total"], 1);
  EXPECT_EQ(values["atoll_lease_released_total"], 1);
  EXPECT_EQ(values["atoll_pool_quota_used{pool=p}"], 0);
}

}  // namespace
}  // namespace atl::pools

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Pools, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "pools", [] { return std::make_shared<pools::CountedPools>(); }, {}}));

}  // namespace
}  // namespace atl::test
