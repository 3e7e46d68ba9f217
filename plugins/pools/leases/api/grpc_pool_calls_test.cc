#include "pools/leases/api/grpc_pool_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/utf8.h"
#include "atoll/testing/fake_grpc_exchange.h"
#include "pools/leases/api/messages.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

const std::string kPools = "/pools.v1.PoolService/", kLeases = "/pools.v1.LeaseService/";

class GrpcPoolCallsTest : public testing::Test, public PoolBench {
 protected:
  GrpcPoolCallsTest() { calls.emplace(*manager, context()); }
  ~GrpcPoolCallsTest() override {
    run([&] { calls->drain(); });
    for (const auto& exchange : exchanges) EXPECT_EQ(exchange->problems(), std::vector<std::string>());
    stop();
  }
  /// Not answered yet, maybe.
  test::FakeGrpcExchange& send(const std::string& method, const std::string& message) {
    test::FakeGrpcExchange& exchange = *exchanges.emplace_back(
        std::make_unique<test::FakeGrpcExchange>(test::FakeGrpcRequest{message, {}, {}, caller}));
    exchange.send_to(*calls, method);
    run([] {});
    return exchange;
  }
  template <class Answer, class Request>
  Answer ask(const std::string& method, const Request& request) {
    const test::ReceivedGrpcAnswer received = send(method, request.SerializeAsString()).received();
    EXPECT_EQ(received.code, Code::kOk) << method << ": " << received.text;
    Answer answer;
    EXPECT_EQ(received.messages.size(), 1u) << method;
    EXPECT_TRUE(!received.messages.empty() && answer.ParseFromString(received.messages[0])) << method;
    return answer;
  }
  template <class Request>
  std::string refusal(const std::string& method, const Request& request) {
    const test::ReceivedGrpcAnswer received = send(method, request.SerializeAsString()).received();
    EXPECT_TRUE(received.messages.empty());
    return cat(code_name(received.code), ": ", received.text);
  }
  static v1::PoolDefinition pool() {
    v1::PoolDefinition pool;
    pool.set_name("p");
    pool.set_quota(8);
    pool.set_max_instances(2);
    return pool;
  }
  static v1::LeaseDefinition lease_of(const std::string& model, uint64_t quota = 2) {
    v1::LeaseDefinition lease;
    lease.set_pool("p");
    lease.set_quota(quota);
    lease.add_models()->set_name(model);
    lease.mutable_models(0)->set_source("/models");
    return lease;
  }
  static v1::Lease last_of(const test::FakeGrpcExchange& exchange) {
    v1::Lease lease;
    const test::ReceivedGrpcAnswer received = exchange.received();
    EXPECT_TRUE(!received.messages.empty() && lease.ParseFromString(received.messages.back()));
    return lease;
  }

  std::optional<GrpcPoolCalls> calls;
  const Identity* caller = nullptr;  ///< of the next send()
  std::vector<std::unique_ptr<test::FakeGrpcExchange>> exchanges;
};

TEST_F(GrpcPoolCallsTest, PoolsAreMadeShownChangedAndDeleted) {
  v1::PoolDefinition definition = pool();
  definition.set_enforce_backends(false);
  definition.mutable_instance()->set_cpus(2);
  EXPECT_EQ(ask<v1::Pool>(kPools + "Create", definition).definition().SerializeAsString(), [&] {
    v1::PoolDefinition all = definition;
    return all.SerializeAsString();
  }());
  EXPECT_EQ(refusal(kPools + "Create", pool()), "ALREADY_EXISTS: pool 'p' already exists");
  EXPECT_EQ(ask<v1::ListPoolsResponse>(kPools + "List", v1::ListPoolsRequest()).pools_size(), 1);
  v1::UpdatePoolRequest update;
  update.set_name("p");
  update.set_min_instances(1);
  EXPECT_EQ(ask<v1::Pool>(kPools + "Update", update).instances(0).state(), "STARTING");
  v1::DeletePoolRequest remove;
  remove.set_name("p");
  EXPECT_EQ(ask<v1::Pool>(kPools + "Delete", remove).state(), "DELETING");
  run_for(10 * kNsPerSecond);
  v1::PoolStatusRequest status;
  status.set_name("p");
  EXPECT_EQ(refusal(kPools + "Status", status), "NOT_FOUND: pool 'p' is not found");
}

TEST_F(GrpcPoolCallsTest, BackendsAreEnforcedUnlessItIsSaid) {
  EXPECT_TRUE(ask<v1::Pool>(kPools + "Create", pool()).definition().enforce_backends());
}

TEST_F(GrpcPoolCallsTest, ALeaseFromItsAcquisitionToItsRelease) {
  (void)ask<v1::Pool>(kPools + "Create", pool());
  test::FakeGrpcExchange& acquired = send(kLeases + "Acquire", lease_of("a").SerializeAsString());
  EXPECT_EQ(last_of(acquired).state(), "PENDING");
  EXPECT_FALSE(acquired.wait_end({}));
  run_for(3 * kNsPerSecond);
  ASSERT_TRUE(acquired.wait_end({}));
  const v1::Lease lease = last_of(acquired);
  EXPECT_EQ(lease.state(), "ACTIVE");
  EXPECT_EQ(lease.models(0).state(), "READY");
  EXPECT_FALSE(lease.address().empty());
  EXPECT_FALSE(lease.grpc_address().empty());
  EXPECT_EQ(lease.expires_at().seconds() - lease.created_at().seconds(), 3600);
  v1::LeaseName name;
  name.set_name("prod");
  name.set_lease(lease.id());
  (void)ask<v1::LeaseName>(kLeases + "SetName", name);
  v1::LeaseRequest by_name;
  by_name.set_lease("prod");
  EXPECT_EQ(ask<v1::Lease>(kLeases + "Status", by_name).id(), lease.id());
  v1::RenewRequest renew;
  renew.set_lease("prod");
  renew.mutable_duration()->set_seconds(7200);
  EXPECT_GT(ask<v1::Lease>(kLeases + "Renew", renew).expires_at().seconds(), lease.expires_at().seconds());
  EXPECT_EQ(ask<v1::ListLeasesResponse>(kLeases + "List", v1::ListLeasesRequest()).leases(0).name(), "prod");
  EXPECT_EQ(ask<v1::ListNamesResponse>(kLeases + "ListNames", v1::ListNamesRequest()).names(0).lease(),
            lease.id());
  v1::DeleteNameRequest drop;
  drop.set_name("prod");
  (void)ask<v1::DeleteNameResponse>(kLeases + "DeleteName", drop);
  EXPECT_EQ(refusal(kLeases + "Status", by_name), "NOT_FOUND: lease 'prod' is not found");
  v1::LeaseRequest by_id;
  by_id.set_lease(lease.id());
  test::FakeGrpcExchange& released = send(kLeases + "Release", by_id.SerializeAsString());
  EXPECT_FALSE(released.wait_end({}));
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(last_of(released).state(), "RELEASED");
}

TEST_F(GrpcPoolCallsTest, RefusalsHaveTheirCodes) {
  (void)ask<v1::Pool>(kPools + "Create", pool());
  EXPECT_EQ(refusal(kLeases + "Acquire", lease_of("a", 9)),
            "INVALID_ARGUMENT: lease asks for quota 9 but instances of pool 'p' have 8");
  EXPECT_EQ(
      refusal(kLeases + "Acquire", lease_of("../a")),
      "INVALID_ARGUMENT: models[0].name is '../a', expected a name without '/' that is not '.' or '..'");
  v1::LeaseDefinition negative = lease_of("a");
  negative.mutable_duration()->set_seconds(-1);
  EXPECT_TRUE(refusal(kLeases + "Acquire", negative).starts_with("INVALID_ARGUMENT: duration is -1 s"));
  negative.mutable_duration()->set_seconds(INT64_MAX);
  EXPECT_TRUE(refusal(kLeases + "Plan", negative).starts_with("INVALID_ARGUMENT: duration is "));
  v1::LeaseRequest none;
  none.set_lease("none");
  EXPECT_EQ(refusal(kLeases + "Release", none), "NOT_FOUND: lease 'none' is not found");
  for (const GrpcMethod& method : calls->methods()) {
    if (method.path.ends_with("/List") || method.path.ends_with("/ListNames")) continue;
    EXPECT_EQ(send(method.path, "\x07garbage").received().code, Code::kInvalidArgument) << method.path;
  }
  EXPECT_EQ(send(kPools + "Nothing", "").received().code, Code::kUnimplemented);
}

TEST_F(GrpcPoolCallsTest, ALeaseThatFailsEndsItsStreamWithTheReason) {
  (void)ask<v1::Pool>(kPools + "Create", pool());
  servers.broken["a"] = "it has \xff no file";
  test::FakeGrpcExchange& acquired = send(kLeases + "Acquire", lease_of("a").SerializeAsString());
  run_for(10 * kNsPerSecond);
  EXPECT_EQ(acquired.received().code, Code::kFailedPrecondition);
  EXPECT_EQ(last_of(acquired).state(), "FAILED");
  EXPECT_TRUE(is_utf8(last_of(acquired).models(0).reason()));
}

TEST_F(GrpcPoolCallsTest, AClientThatGoesCancelsNothing) {
  (void)ask<v1::Pool>(kPools + "Create", pool());
  test::FakeGrpcExchange& acquired = send(kLeases + "Acquire", lease_of("a").SerializeAsString());
  acquired.leave();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(acquired.received().code, Code::kCancelled);
  EXPECT_EQ(ask<v1::ListLeasesResponse>(kLeases + "List", v1::ListLeasesRequest()).leases(0).state(),
            "ACTIVE");
}

TEST_F(GrpcPoolCallsTest, APlanSaysWhereALeaseWouldGo) {
  (void)ask<v1::Pool>(kPools + "Create", pool());
  const v1::LeasePlan empty = ask<v1::LeasePlan>(kLeases + "Plan", lease_of("a"));
  EXPECT_TRUE(empty.starts_instance());
  deploy(lease(6, {"a"}));
  deploy(lease(6, {"b"}));
  const v1::LeasePlan full = ask<v1::LeasePlan>(kLeases + "Plan", lease_of("a", 4));
  EXPECT_FALSE(full.starts_instance());
  EXPECT_EQ(full.instance(), "");
  EXPECT_FALSE(full.reason().empty());
  EXPECT_EQ(full.instances_size(), 2);
  EXPECT_FALSE(full.instances(0).reason().empty());
}

TEST_F(GrpcPoolCallsTest, ALeaseOfAModelThatIsNotThereStartsNothing) {
  (void)ask<v1::Pool>(kPools + "Create", pool());
  servers.missing.insert("gone");
  for (const char* method : {"Acquire", "Plan"})
    EXPECT_EQ(refusal(kLeases + method, lease_of("gone")),
              "FAILED_PRECONDITION: source '/models' has no model 'gone'");
  EXPECT_EQ(instances("p"), "");
}

TEST_F(GrpcPoolCallsTest, ALeaseOfAnotherTenantIsAsOneThatNeverWas) {
  const std::string pools = "/pools.v1.PoolService/", leases = "/pools.v1.LeaseService/";
  const TenantCaller blue("blue"), red("red");
  (void)ask<v1::Pool>(pools + "Create", pool());
  caller = &blue;
  (void)send(leases + "Acquire", lease_of("a").SerializeAsString());
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state("id-1"), "ACTIVE on i0");
  v1::LeaseName name;
  name.set_name("live");
  name.set_lease("id-1");
  (void)ask<v1::LeaseName>(leases + "SetName", name);
  v1::PoolStatusRequest of_pool;
  of_pool.set_name("p");
  EXPECT_EQ(ask<v1::Pool>(pools + "Status", of_pool).instances(0).leases_size(), 1);

  caller = &red;
  EXPECT_EQ(ask<v1::Pool>(pools + "Status", of_pool).instances(0).leases_size(), 0);
  EXPECT_EQ(
      ask<v1::ListPoolsResponse>(pools + "List", v1::ListPoolsRequest()).pools(0).instances(0).leases_size(),
      0);
  EXPECT_EQ(ask<v1::ListLeasesResponse>(leases + "List", v1::ListLeasesRequest()).leases_size(), 0);
  EXPECT_EQ(ask<v1::ListNamesResponse>(leases + "ListNames", v1::ListNamesRequest()).names_size(), 0);
  for (const char* lease : {"id-1", "id-99", "live"}) {
    const std::string refused = cat("NOT_FOUND: lease '", lease, "' is not found");
    v1::LeaseRequest of_lease;
    of_lease.set_lease(lease);
    v1::RenewRequest renewal;
    renewal.set_lease(lease);
    name.set_lease(lease);
    EXPECT_EQ(refusal(leases + "Status", of_lease), refused);
    EXPECT_EQ(refusal(leases + "Release", of_lease), refused);
    EXPECT_EQ(refusal(leases + "Renew", renewal), refused);
    EXPECT_EQ(refusal(leases + "SetName", name), refused);
  }
  v1::DeleteNameRequest drop;
  drop.set_name("live");
  EXPECT_EQ(refusal(leases + "DeleteName", drop), "NOT_FOUND: lease name 'live' is not found");

  caller = &blue;
  EXPECT_EQ(ask<v1::ListNamesResponse>(leases + "ListNames", v1::ListNamesRequest()).names_size(), 1);
  EXPECT_EQ(ask<v1::ListLeasesResponse>(leases + "List", v1::ListLeasesRequest()).leases(0).id(), "id-1");
}

TEST_F(GrpcPoolCallsTest, APatternOfModelsIsOneForLeases) {
  const TenantCaller all("blue"), some("blue", "a");
  (void)ask<v1::Pool>(kPools + "Create", pool());
  caller = &all;
  (void)send(kLeases + "Acquire", lease_of("b").SerializeAsString());
  run_for(3 * kNsPerSecond);
  ASSERT_EQ(state("id-1"), "ACTIVE on i0");

  caller = &some;
  for (const char* method : {"Create", "List", "Status", "Update", "Delete"})
    EXPECT_EQ(refusal(kPools + method, v1::PoolStatusRequest()),
              "PERMISSION_DENIED: calls about pools need 'pools.pool' for all models")
        << method;
  for (const char* method : {"Acquire", "Plan"})
    EXPECT_EQ(refusal(kLeases + method, lease_of("b")),
              "PERMISSION_DENIED: the caller may not lease the model 'b'");
  EXPECT_EQ(ask<v1::ListLeasesResponse>(kLeases + "List", v1::ListLeasesRequest()).leases_size(), 0);
  for (const char* lease : {"id-1", "id-99"}) {
    const std::string refused = cat("NOT_FOUND: lease '", lease, "' is not found");
    v1::LeaseRequest of_lease;
    of_lease.set_lease(lease);
    for (const char* method : {"Status", "Release"}) EXPECT_EQ(refusal(kLeases + method, of_lease), refused);
    v1::RenewRequest renewal;
    renewal.set_lease(lease);
    EXPECT_EQ(refusal(kLeases + "Renew", renewal), refused);
    v1::LeaseName name;
    name.set_name("live");
    name.set_lease(lease);
    EXPECT_EQ(refusal(kLeases + "SetName", name), refused);
  }
  (void)send(kLeases + "Acquire", lease_of("a").SerializeAsString());
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(ask<v1::ListLeasesResponse>(kLeases + "List", v1::ListLeasesRequest()).leases_size(), 1);
}

}  // namespace
}  // namespace atl::pools
