// Another process over what the one before has stored, while the servers live on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

class PoolRestartTest : public testing::Test, public PoolBench {
 protected:
  using Texts = std::vector<std::string>;
};

TEST_F(PoolRestartTest, ARestartFindsEverythingAgain) {
  (void)create_pool("p", 8, 2);
  const std::string kept = deploy(lease(3, {"a"})), ends = deploy(lease(1, {"a2"}, 60 * kNsPerSecond));
  run([&] { EXPECT_TRUE(manager->set_name("", "live", kept).ok()); });
  const auto before = servers.servers().begin()->first;
  stop();
  run_for(2 * kNsPerSecond);
  start();
  EXPECT_EQ(state(kept), "PENDING on i0");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(kept), "ACTIVE on i0");
  EXPECT_EQ(state(ends), "ACTIVE on i1");
  EXPECT_EQ(servers.servers().begin()->first, before) << "the servers live on";
  EXPECT_EQ(instances("p"), "i0 READY used 3 free 5; i1 READY used 1 free 7");
  EXPECT_EQ(manager->book().names.of_owner("").at("live"), kept);
  EXPECT_EQ(state(deploy(lease(5, {"a2"}))), "ACTIVE on i0") << "what was found out is known";
  stop();
  run_for(60 * kNsPerSecond);
  start();
  EXPECT_EQ(state(ends), "RELEASING on i1");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(ends), "EXPIRED");
  EXPECT_TRUE(servers.find("p", 1)->models.empty());
  EXPECT_EQ(state(kept), "ACTIVE on i0");
}

TEST_F(PoolRestartTest, ACalendarThatIsSetBackMakesNoLeaseLonger) {
  (void)create_pool("p", 8, 1);
  const std::string id = deploy(lease(3, {"a"}, 60 * kNsPerSecond));
  stop();
  clock.offset_ns = -1000 * 3600 * kNsPerSecond;
  start();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  EXPECT_LE(manager->book().leases.find(id)->record.expires_wall_ns, clock.wall_ns() + 60 * kNsPerSecond);
  run_for(60 * kNsPerSecond);
  EXPECT_EQ(state(id), "EXPIRED");
}

TEST_F(PoolRestartTest, ALeaseExpiresWhenItsClientWasTold) {
  clock.ns_a_reading = kNsPerMs;
  (void)create_pool("p", 8, 1);
  const std::string id = deploy(lease(3, {"a"}, 60 * kNsPerSecond));
  const int64_t expires_wall_ns = manager->book().leases.find(id)->record.expires_wall_ns;
  restart();
  EXPECT_EQ(manager->book().leases.find(id)->record.expires_wall_ns, expires_wall_ns);
}

TEST_F(PoolRestartTest, ServersThatWentMeanwhileAreStartedAgainWithTheirLeases) {
  (void)create_pool("p", 8, 1);
  const std::string first = deploy(lease(3, {"a"})), second = deploy(lease(2, {"a2"}));
  (void)second;
  stop();
  servers.kill("p", 0);
  run_for(kNsPerSecond);
  EXPECT_EQ(servers.running(), 0u);
  start();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(first), "ACTIVE on i0");
  EXPECT_EQ(servers.find("p", 0)->models, Texts{"a"});
}

TEST_F(PoolRestartTest, ADeletionGoesOn) {
  (void)create_pool("p", 8, 1);
  (void)deploy(lease(3, {"a"}));
  servers.engine_is_away = true;
  run([&] { EXPECT_TRUE(manager->delete_pool("p", true).ok()); });
  run_for(kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 DRAINING used 0 free 8");
  stop();
  servers.engine_is_away = false;
  start();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "no pool");
  EXPECT_EQ(servers.running(), 0u);
}

TEST_F(PoolRestartTest, AWaitingLeaseWaitsOnAfterARestart) {
  (void)create_pool("p", 2, 1);
  const std::string id = deploy(lease(2, {"a"}));
  servers.engine_is_away = true;
  servers.find("p", 0)->hangs = true;
  run_for(60 * kNsPerSecond);
  EXPECT_FALSE(manager->book().leases.find(id)->record.has_place);
  restart();
  EXPECT_EQ(state(id), "PENDING on i0");
  EXPECT_EQ(instances("p"), "i0 STARTING used 2 free 0");
  servers.engine_returns();
  run_for(settings.start_timeout_ns + 5 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0") << "on another server in its place";
}

TEST_F(PoolRestartTest, ServersAreNotGivenUpWhileTheEngineIsAway) {
  (void)create_pool("p", 8, 1);
  const std::string id = deploy(lease(3, {"a"}, 24 * 3600 * kNsPerSecond));
  const std::string server = servers.find("p", 0)->spec.id;
  stop();
  servers.engine_is_away = true;
  start();
  run_for(3600 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 STARTING used 3 free 5");
  EXPECT_EQ(state(id), "PENDING on i0");
  servers.engine_returns();
  run_for(kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  EXPECT_EQ(servers.find("p", 0)->spec.id, server);
}

/// How long the last lease took to be ACTIVE.
struct DeployTime final : PoolEvents {
  virtual ~DeployTime() = default;
  void happened(const PoolEvent& event) override {
    if (event.kind == PoolEvent::Kind::kLeaseActive) ns = event.deploy_ns;
  }
  int64_t ns = -1;
};

TEST_F(PoolRestartTest, ADeploymentThatARestartInterruptsCountsFromTheRestart) {
  run_for(1'000 * kNsPerSecond);
  (void)create_pool("p", 8, 1);
  const std::string id = acquire(lease(1, {"a"}));
  run_for(kNsPerSecond / 2);
  EXPECT_EQ(state(id), "PENDING on i0") << "as it is recorded";
  DeployTime time;
  watcher = &time;
  restart();
  run_for(5 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  EXPECT_GE(time.ns, 0);
  EXPECT_LE(time.ns, 5 * kNsPerSecond);
  watcher = nullptr;
}

TEST_F(PoolRestartTest, OfAPoolThatIsBeingDeletedNothingComesBack) {
  (void)create_pool("p", 2, 1);
  const std::string id = deploy(lease(2, {"a"}));
  stop();
  // As if the process had ended right after it recorded the deletion.
  PoolRecord record;
  record.definition.name = "p";
  record.definition.max_instances = 1;
  record.definition.quota = 2;
  record.is_deleting = true;
  LeaseRecord waits;
  waits.id = "waits";
  waits.definition = lease(1, {"b"});
  waits.has_place = false;
  waits.expires_wall_ns = INT64_MAX;
  const Change changes[] = {record, waits};
  ASSERT_TRUE(store->write(changes).ok());
  start();
  EXPECT_EQ(state("waits"), "RELEASED");
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASED");
  EXPECT_EQ(instances("p"), "no pool");
  EXPECT_EQ(servers.servers().size(), 0u);
}

}  // namespace
}  // namespace atl::pools
