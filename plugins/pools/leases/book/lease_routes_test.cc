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
  std::string route(std::string_view model, std::string_view lease = {}, std::string_view owner = {}) const {
    const Result<RemoteServer> server = routes->find_for(owner, model, lease);
    return server.ok() ? server.value().http.host : text_of(server.status());
  }
  std::string server_of(uint32_t instance) { return servers.find("p", instance)->spec.id; }
  static LeaseDefinition owned_by(std::string owner, LeaseDefinition lease) {
    lease.owner = std::move(owner);
    return lease;
  }
  void name(const std::string& name, const std::string& lease, const std::string& owner = {}) {
    run([&] { EXPECT_TRUE(manager->set_name(owner, name, lease).ok()); });
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
  run([&] { EXPECT_TRUE(manager->delete_name("", "live").ok()); });
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
  EXPECT_EQ(routes->list().front().lease_names, std::vector<std::string>{"live"});
  const std::string of_a_tenant = deploy(owned_by("t", lease(2, {"c"})));
  inherits_routes = true;
  const std::string server = server_of(0), tenants_server = route("c", {}, "t");
  ASSERT_NE(tenants_server, server);
  restart();
  EXPECT_EQ(state(kept), "PENDING on i0");
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(route("a"), server);
    EXPECT_EQ(route("a", "live"), server);
    EXPECT_EQ(route("c", {}, "t"), tenants_server);
    run_for(20 * kNsPerMs);
  }
  EXPECT_EQ(state(kept), "ACTIVE on i0");
  EXPECT_EQ(state(other), "ACTIVE on i1");
}

TEST_F(LeaseRoutesTest, WhatATakeoverDoesNotFindAgainIsNotServed) {
  const std::string id = deploy(lease(2, {"a"})), gone = deploy(lease(2, {"b"}));
  inherits_routes = true;
  stop();
  ASSERT_TRUE(store->write(DropLease{gone}).ok());
  servers.kill("p", 0);
  run_for(kNsPerSecond);
  start();
  EXPECT_EQ(route("b"), "NOT_FOUND: no lease has a model 'b'");
  run_for(10 * kNsPerMs);
  EXPECT_EQ(route("a"), cat("UNAVAILABLE: model 'a' is not ready: lease '", id, "' is PENDING"));
  run_for(5 * kNsPerSecond);
  EXPECT_EQ(route("a"), server_of(manager->book().leases.find(id)->record.instance));
}

TEST_F(LeaseRoutesTest, EachOwnerHasLeasesAndNamesOfItsOwn) {
  const std::string of_t = deploy(owned_by("t", lease(2, {"a"})));
  const std::string of_u = deploy(owned_by("u", lease(2, {"a"})));
  ASSERT_NE(server_of(0), server_of(1));
  EXPECT_EQ(route("a", {}, "t"), server_of(0));
  EXPECT_EQ(route("a", {}, "u"), server_of(1));
  EXPECT_EQ(route("a"), "NOT_FOUND: no lease has a model 'a'");
  name("live", of_t, "t");
  name("live", of_u, "u");
  EXPECT_EQ(route("a", "live", "t"), server_of(0));
  EXPECT_EQ(route("a", "live", "u"), server_of(1));
  // Of another owner and of nobody there is the same to be heard as of one that never was.
  for (const std::string_view owner : {"u", "v", ""}) {
    EXPECT_EQ(route("a", of_t, owner), cat("NOT_FOUND: lease '", of_t, "' is not found, or has ended"));
    EXPECT_EQ(route("a", "id-99", owner), "NOT_FOUND: lease 'id-99' is not found, or has ended");
  }
  ASSERT_EQ(routes->list_for("t").size(), 1u);
  EXPECT_EQ(routes->list_for("t")[0].lease, of_t);
  EXPECT_TRUE(routes->list().empty());
  (void)release(of_t);
  EXPECT_EQ(route("a", "live", "t"), "NOT_FOUND: lease 'live' is not found, or has ended");
  EXPECT_EQ(route("a", "live", "u"), server_of(1));
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
