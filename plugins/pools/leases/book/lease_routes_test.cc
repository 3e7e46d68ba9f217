// Where requests to leased models go, while leases come, change and go.
#include "pools/leases/book/lease_routes.h"

#include <gtest/gtest.h>

#include <string>

#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

class LeaseRoutesTest : public testing::Test, public PoolBench {
 protected:
  LeaseRoutesTest() { (void)create_pool("p", 8, 4); }

  /// The id of the server, or why there is none.
  std::string route(std::string_view model, std::string_view lease = {}) const {
    const Result<RemoteServer> server = routes->find(model, lease);
    return server.ok() ? server.value().http.host : text_of(server.status());
  }
  std::string server_of(uint32_t instance) { return servers.find("p", instance)->spec.id; }
  void name(const std::string& name, const std::string& lease) {
    run([&] { EXPECT_TRUE(manager->set_name(name, lease).ok()); });
  }
};

TEST_F(LeaseRoutesTest, ALeasedModelIsServedFromActiveToItsEnd) {
  EXPECT_EQ(route("a"), "NOT_FOUND: no lease has a model 'a'");
  const std::string id = acquire(lease(2, {"a", "b"}));
  EXPECT_EQ(route("a"), cat("UNAVAILABLE: model 'a' is not ready: lease '", id, "' is PENDING"));
  run_for(1200 * kNsPerMs);
  EXPECT_EQ(route("a"), cat("UNAVAILABLE: model 'a' is not ready: lease '", id, "' is DEPLOYING"));
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(route("a"), server_of(0));
  EXPECT_EQ(route("b"), server_of(0));
  EXPECT_EQ(route("c"), "NOT_FOUND: no lease has a model 'c'");
  EXPECT_EQ(routes->find("a", {}).value().grpc.port, 8001);
  (void)release(id);
  EXPECT_EQ(route("a"), "NOT_FOUND: no lease has a model 'a'") << "before anything is unloaded";
  EXPECT_EQ(route("a", id), cat("NOT_FOUND: lease '", id, "' is not found, or has ended"));
}

TEST_F(LeaseRoutesTest, TheOldestActiveLeaseServesUnlessTheClientChooses) {
  const std::string first = deploy(lease(2, {"a"})), second = deploy(lease(2, {"a"}));
  ASSERT_NE(server_of(0), server_of(1));
  EXPECT_EQ(route("a"), server_of(0));
  EXPECT_EQ(route("a", second), server_of(1));
  EXPECT_EQ(route("a", first), server_of(0));
  name("live", second);
  EXPECT_EQ(route("a", "live"), server_of(1));
  name("live", first);
  EXPECT_EQ(route("a", "live"), server_of(0)) << "in one step";
  EXPECT_EQ(route("b", "live"), "NOT_FOUND: lease 'live' has no model 'b'");
  run([&] { EXPECT_TRUE(manager->delete_name("live").ok()); });
  EXPECT_EQ(route("a", "live"), "NOT_FOUND: lease 'live' is not found, or has ended");
  (void)release(first);
  EXPECT_EQ(route("a"), server_of(1));
}

TEST_F(LeaseRoutesTest, ALeaseThatExpiresTakesNoFurtherRequests) {
  (void)deploy(lease(2, {"a"}, 5 * kNsPerSecond));
  EXPECT_EQ(route("a"), server_of(0));
  run_for(1900 * kNsPerMs);
  EXPECT_EQ(route("a"), server_of(0));
  run_for(200 * kNsPerMs);
  EXPECT_EQ(route("a"), "NOT_FOUND: no lease has a model 'a'");
}

TEST_F(LeaseRoutesTest, ALostInstanceIsNotAskedAndTheNextOneIs) {
  const std::string id = deploy(lease(2, {"a"}));
  const std::string before = route("a");
  servers.kill("p", 0);
  run_for(10 * kNsPerMs);
  EXPECT_TRUE(route("a").starts_with("UNAVAILABLE: model 'a' is not ready")) << route("a");
  run_for(5 * kNsPerSecond);
  EXPECT_NE(route("a"), before);
  EXPECT_EQ(route("a"), server_of(manager->book().leases.find(id)->record.instance));
}

TEST_F(LeaseRoutesTest, ATakeoverServesAllTheTime) {
  const std::string kept = deploy(lease(2, {"a"})), other = deploy(lease(2, {"b"}));
  name("live", kept);
  inherited = routes->list();
  ASSERT_EQ(inherited.size(), 2u);
  EXPECT_EQ(inherited.front().lease_names, std::vector<std::string>{"live"});
  const std::string server = server_of(0);
  restart();
  EXPECT_EQ(state(kept), "PENDING on i0");
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(route("a"), server);
    EXPECT_EQ(route("a", "live"), server);
    run_for(20 * kNsPerMs);
  }
  EXPECT_EQ(state(kept), "ACTIVE on i0");
  EXPECT_EQ(state(other), "ACTIVE on i1");
}

TEST_F(LeaseRoutesTest, WhatATakeoverDoesNotFindAgainIsNotServed) {
  const std::string id = deploy(lease(2, {"a"}));
  inherited = routes->list();
  inherited.push_back(inherited.front());
  inherited.back().lease = "of nobody";
  inherited.back().name = "b";
  stop();
  servers.kill("p", 0);
  run_for(kNsPerSecond);
  start();
  EXPECT_EQ(route("b"), "NOT_FOUND: no lease has a model 'b'");
  run_for(10 * kNsPerMs);
  EXPECT_EQ(route("a"), cat("UNAVAILABLE: model 'a' is not ready: lease '", id, "' is PENDING"));
  run_for(5 * kNsPerSecond);
  EXPECT_EQ(route("a"), server_of(manager->book().leases.find(id)->record.instance));
}

TEST_F(LeaseRoutesTest, TheListHasAllWithWhatTheyWaitFor) {
  const std::string first = deploy(lease(2, {"a"}));
  const std::string second = acquire(lease(8, {"b"}));
  const std::vector<RemoteModel> models = routes->list();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_TRUE(models[0].is_ready);
  EXPECT_EQ(models[0].server.http.host, server_of(0));
  EXPECT_EQ(models[1].name, "b");
  EXPECT_FALSE(models[1].is_ready);
  EXPECT_EQ(models[1].reason, cat("lease ", second, " is PENDING"));
}

}  // namespace
}  // namespace atl::pools
