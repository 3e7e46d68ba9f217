#include "pools/leases/book/pool_manager.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

using Texts = std::vector<std::string>;

class PoolManagerTest : public testing::Test, public PoolBench {};

// --- placing ---

TEST_F(PoolManagerTest, LeasesFillInstancesAndMoreAreStarted) {
  EXPECT_EQ(create_pool("p", 8, 2), "");
  EXPECT_EQ(instances("p"), "");
  const std::string first = deploy(lease(2, {"a"}));
  EXPECT_EQ(state(first), "ACTIVE on i0");
  const std::string second = deploy(lease(6, {"b"}));
  EXPECT_EQ(state(second), "ACTIVE on i1") << "its backend was not known";
  EXPECT_EQ(release(second), "");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(second), "RELEASED");
  const std::string third = deploy(lease(6, {"b"}));
  EXPECT_EQ(state(third), "ACTIVE on i0");
  EXPECT_EQ(instances("p"), "i0 READY used 8 free 0; i1 READY used 0 free 8");
  EXPECT_EQ(acquire(lease(9, {"c"})),
            "INVALID_ARGUMENT: lease asks for quota 9 but instances of pool 'p' have 8");
  EXPECT_EQ(
      acquire(lease(8, {"c"})),
      "RESOURCE_EXHAUSTED: pool 'p' has no instance with 8 free: i0 free 0, i1 free 8 (in use, and the lease's "
      "backends are not known); at maximum 2");
  EXPECT_EQ(count("lease.refused"), 2u);
  EXPECT_EQ(count("lease.refused on an instance"), 0u);
}

TEST_F(PoolManagerTest, TwoThatNeedANewInstanceShareIt) {
  (void)create_pool("p", 8, 2, 0, false);
  const std::string first = acquire(lease(4, {"a"})), second = acquire(lease(4, {"b"}));
  EXPECT_EQ(state(first), "PENDING on i0");
  EXPECT_EQ(state(second), "PENDING on i0");
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(first), "ACTIVE on i0");
  EXPECT_EQ(state(second), "ACTIVE on i0");
  EXPECT_EQ(servers.servers().size(), 1u);
}

TEST_F(PoolManagerTest, OfAHundredAsMuchAsThereIsRoomFor) {
  (void)create_pool("p", 8, 2, 0, false);
  int granted = 0, refused = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string outcome = acquire(lease(1, {cat("m", i)}));
    ++(outcome.starts_with("id-") ? granted : refused);
  }
  EXPECT_EQ(granted, 16);
  EXPECT_EQ(refused, 84);
  run_for(5 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 READY used 8 free 0; i1 READY used 8 free 0");
  EXPECT_EQ(count("lease.active"), 16u);
}

TEST_F(PoolManagerTest, AnUnknownModelIsKnownOnceItWasDeployed) {
  (void)create_pool("p", 8, 2);
  servers.backends["a"] = {"python"};
  const std::string first = deploy(lease(1, {"a"}));
  EXPECT_EQ(acquire(lease(8, {"x"})).substr(0, 3), "id-");
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(release(first), "");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(deploy(lease(1, {"a"}))), "ACTIVE on i0");
  LeaseDefinition moved = lease(1, {"a"});
  moved.models[0].source = "/elsewhere";
  EXPECT_EQ(
      acquire(moved),
      "RESOURCE_EXHAUSTED: pool 'p' has no instance with 1 free: i0 free 7 (in use, and the lease's backends "
      "are not known), i1 free 0; at maximum 2");
}

// --- deploying ---

TEST_F(PoolManagerTest, ModelsAreLoadedInOrderAndUnloadedInTheOther) {
  (void)create_pool("p", 8, 1);
  const std::string id = deploy(lease(1, {"tokenizer", "model", "ensemble"}));
  EXPECT_EQ(servers.history, (Texts{"+tokenizer", "+model", "+ensemble"}));
  EXPECT_EQ(release(id), "");
  EXPECT_EQ(state(id), "RELEASING on i0");
  EXPECT_EQ(instances("p"), "i0 READY used 1 free 7") << "until all of it is unloaded";
  run_for(kNsPerSecond);
  EXPECT_EQ(servers.history,
            (Texts{"+tokenizer", "+model", "+ensemble", "-ensemble", "-model", "-tokenizer"}));
  EXPECT_EQ(state(id), "RELEASED");
  EXPECT_EQ(instances("p"), "i0 READY used 0 free 8");
  EXPECT_EQ(release(id), "") << "again is no harm";
  EXPECT_EQ(release("id-77"), "NOT_FOUND: lease 'id-77' is not found");
}

TEST_F(PoolManagerTest, OneModelThatFailsFailsAllOfThem) {
  (void)create_pool("p", 8, 1, 0, false);
  servers.broken["b"] = "no such file: model.onnx";
  const std::string id = deploy(lease(3, {"a", "b", "c"}));
  EXPECT_EQ(state(id), "FAILED: model 'b' failed to load: no such file: model.onnx");
  EXPECT_EQ(manager->book().leases.find(id)->record.failure, Code::kFailedPrecondition);
  EXPECT_EQ(servers.history, (Texts{"+a", "-a"}));
  EXPECT_EQ(instances("p"), "i0 READY used 0 free 8");
  EXPECT_EQ(count("lease.active"), 0u);
  EXPECT_EQ(count("lease.failed"), 1u);
}

TEST_F(PoolManagerTest, WhatFailedCanBeTriedAgainSoon) {
  (void)create_pool("p", 8, 1);
  servers.broken["a"] = "no such file: model.onnx";
  EXPECT_EQ(state(deploy(lease(3, {"a"}))).substr(0, 6), "FAILED");
  servers.broken.clear();
  EXPECT_EQ(state(deploy(lease(3, {"a"}))), "ACTIVE on i0")
      << "on a new server, since the model is not known yet";
}

TEST_F(PoolManagerTest, AReleaseWhileItDeploysEndsIt) {
  (void)create_pool("p", 8, 1, 0, false);
  const std::string id = acquire(lease(1, {"a", "b"}));
  run_for(kNsPerSecond + 200 * kNsPerMs);
  EXPECT_EQ(state(id), "DEPLOYING on i0");
  EXPECT_EQ(release(id), "");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASED");
  EXPECT_EQ(servers.history.size() % 2, 0u);
  EXPECT_TRUE(servers.find("p", 0)->models.empty());
}

TEST_F(PoolManagerTest, WhatDoesNotUnloadKeepsItsQuotaUntilItDoes) {
  (void)create_pool("p", 8, 1);
  servers.stuck["a"] = 3;
  const std::string id = deploy(lease(1, {"a"}));
  EXPECT_EQ(release(id), "");
  run_for(2 * kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASING on i0");
  EXPECT_EQ(instances("p"), "i0 READY used 1 free 7");
  run_for(10 * kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASED");
  EXPECT_EQ(instances("p"), "i0 READY used 0 free 8");
}

TEST_F(PoolManagerTest, AKeyGivesTheSameLeaseAgain) {
  (void)create_pool("p", 8, 1);
  LeaseDefinition keyed = lease(1, {"a"});
  keyed.idempotency_key = "once";
  const std::string id = acquire(keyed);
  EXPECT_EQ(acquire(keyed), id);
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(acquire(keyed), id);
  keyed.quota = 2;
  EXPECT_EQ(acquire(keyed),
            cat("ALREADY_EXISTS: idempotency_key 'once' is that of lease ", id, ", which is another one"));
}

// --- time ---

TEST_F(PoolManagerTest, ALeaseEndsInTimeAndIsForgottenLater) {
  (void)create_pool("p", 8, 1, 1);
  run_for(3 * kNsPerSecond);
  const int64_t begin_ns = steady.now_ns();
  const std::string id = acquire(lease(1, {"a"}, 2 * kNsPerSecond));
  executors.run_until(begin_ns + 2 * kNsPerSecond - 1);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  executors.run_until(begin_ns + 2 * kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASING on i0");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(id), "EXPIRED");
  run_for(settings.history_ns);
  EXPECT_EQ(state(id), "forgotten");
}

TEST_F(PoolManagerTest, ARenewalMovesTheEndAndNeverBack) {
  (void)create_pool("p", 8, 1, 1);
  run_for(3 * kNsPerSecond);
  const int64_t begin_ns = steady.now_ns();
  const std::string id = acquire(lease(1, {"a"}, 2 * kNsPerSecond));
  executors.run_until(begin_ns + kNsPerSecond);
  run([&] {
    Result<int64_t> first = manager->renew(id, 5 * kNsPerSecond);
    ASSERT_TRUE(first.ok()) << first.status().text();
    EXPECT_EQ(*first, clock.wall_ns() + 5 * kNsPerSecond);
    Result<int64_t> shorter = manager->renew(id, 2 * kNsPerSecond);
    ASSERT_TRUE(shorter.ok());
    EXPECT_EQ(*shorter, *first);
    EXPECT_EQ(manager->renew(id, 1).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(manager->renew("id-99", {}).status().code(), Code::kNotFound);
  });
  executors.run_until(begin_ns + 6 * kNsPerSecond - 1);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  run_for(1);
  EXPECT_EQ(state(id), "RELEASING on i0");
  run([&] {
    EXPECT_EQ(text_of(manager->renew(id, {}).status()),
              cat("FAILED_PRECONDITION: lease '", id, "' is RELEASING"));
  });
  run_for(kNsPerSecond);
  run([&] {
    EXPECT_EQ(text_of(manager->renew(id, {}).status()),
              cat("FAILED_PRECONDITION: lease '", id, "' is EXPIRED"));
  });
}

TEST_F(PoolManagerTest, AUsedLeaseRenewsItself) {
  (void)create_pool("p", 8, 1, 1);
  run_for(3 * kNsPerSecond);
  LeaseDefinition used = lease(1, {"a"}, 2 * kNsPerSecond);
  used.auto_renew = AutoRenew{};
  const std::string id = acquire(used);
  for (int second = 0; second < 20; ++second) {
    last_uses[id] = steady.now_ns();
    run_for(kNsPerSecond);
    EXPECT_TRUE(state(id).ends_with(" on i0")) << state(id);
  }
  EXPECT_GT(count("lease.renewed"), 8u);
  EXPECT_EQ(count("lease.expired"), 0u);
  run_for(6 * kNsPerSecond);
  EXPECT_EQ(state(id), "EXPIRED");
}

TEST_F(PoolManagerTest, TheCalendarDecidesNothing) {
  (void)create_pool("p", 8, 1, 1);
  run_for(3 * kNsPerSecond);
  const std::string early = acquire(lease(1, {"a"}, 10 * kNsPerSecond));
  run_for(kNsPerSecond);
  clock.offset_ns = 3600 * kNsPerSecond;
  run_for(kNsPerSecond);
  EXPECT_EQ(state(early), "ACTIVE on i0");
  clock.offset_ns = -3600 * kNsPerSecond;
  run_for(7 * kNsPerSecond);
  EXPECT_EQ(state(early), "ACTIVE on i0");
  run_for(2 * kNsPerSecond);
  EXPECT_EQ(state(early), "EXPIRED");
}

// --- how many instances ---

TEST_F(PoolManagerTest, TheSmallestNumberIsKeptUp) {
  (void)create_pool("p", 8, 4, 2);
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 READY used 0 free 8; i1 READY used 0 free 8");
  servers.kill("p", 0);
  run_for(4 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 READY used 0 free 8; i1 READY used 0 free 8");
  EXPECT_EQ(count("pool.instance.failed"), 1u);
  run_for(3600 * kNsPerSecond);
  EXPECT_EQ(servers.running(), 2u);
}

TEST_F(PoolManagerTest, IdleInstancesAreStoppedAndUsedOnesBecomeBlank) {
  (void)create_pool("p", 8, 4, 0);
  const std::string id = deploy(lease(1, {"a"}));
  (void)release(id);
  run_for(settings.idle_ns - kNsPerSecond);
  EXPECT_EQ(servers.running(), 1u);
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(servers.running(), 0u);
  EXPECT_EQ(instances("p"), "");

  run([&] { EXPECT_TRUE(manager->update_pool("p", 1, {}).ok()); });
  const std::string again = deploy(lease(1, {"a"}));
  EXPECT_EQ(manager->book().find_pool("p")->places().place(0).backends_state, InstanceBackends::kKnown);
  (void)release(again);
  run_for(settings.idle_ns + 5 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i1 READY used 0 free 8") << "another one in its place";
  EXPECT_EQ(manager->book().find_pool("p")->places().place(1).backends_state, InstanceBackends::kBlank);
}

TEST_F(PoolManagerTest, StartsThatFailAreTriedAgainEverMoreSeldom) {
  for (int i = 0; i < 100; ++i)
    servers.refusals.push_back(Status(Code::kResourceExhausted, "no node has 8 GPUs"));
  (void)create_pool("p", 8, 4, 1);
  run_for(300 * kNsPerSecond);
  const size_t tries = 100 - servers.refusals.size();
  EXPECT_GE(tries, 10u);
  EXPECT_LE(tries, 16u) << "1, 2, 4, 8, 16, 30, 30, ... seconds";
  servers.refusals.clear();
  run_for(40 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 READY used 0 free 8");
}

// --- instances that fail ---

TEST_F(PoolManagerTest, ALeaseWhoseInstanceCanNotBeStartedFails) {
  (void)create_pool("p", 8, 2);
  servers.refusals.push_back(Status(Code::kResourceExhausted, "no node has 8 GPUs"));
  const std::string id = deploy(lease(1, {"a"}));
  EXPECT_EQ(state(id), "FAILED: instance i0 of pool 'p' failed: no node has 8 GPUs");
  EXPECT_EQ(manager->book().leases.find(id)->record.failure, Code::kResourceExhausted);
  EXPECT_EQ(instances("p"), "");
}

TEST_F(PoolManagerTest, LeasesOfAnInstanceThatDiesAreDeployedElsewhere) {
  (void)create_pool("p", 8, 1);
  const std::string id = deploy(lease(3, {"a", "b"}));
  EXPECT_EQ(state(id), "ACTIVE on i0");
  servers.kill("p", 0);
  run_for(10 * kNsPerMs);
  EXPECT_EQ(state(id), "PENDING on i0");
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0") << "the pool was at its maximum until the old one was gone";
  EXPECT_EQ(servers.find("p", 0)->models, (Texts{"a", "b"}));
  servers.kill("p", 0);
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0") << "each time it had been up";
}

TEST_F(PoolManagerTest, AnInstanceThatDiesWhileItsLeaseMovesEndsIt) {
  (void)create_pool("p", 8, 2);
  const std::string id = deploy(lease(3, {"a"}));
  servers.kill("p", 0);
  run_for(kNsPerSecond + 100 * kNsPerMs);
  EXPECT_EQ(state(id), "DEPLOYING on i1");
  servers.kill("p", 1);
  run_for(kNsPerSecond);
  EXPECT_EQ(state(id), "FAILED: instance i1 of pool 'p' failed: killed by signal 9");
  run_for(kNsPerSecond);
  EXPECT_EQ(instances("p"), "");
}

TEST_F(PoolManagerTest, AnInstanceThatNeverGetsReadyIsGivenUp) {
  settings.start_timeout_ns = 20 * kNsPerSecond;
  restart();
  (void)create_pool("p", 8, 2);
  servers.ready_ns = INT64_MAX / 2;
  const std::string id = acquire(lease(1, {"a"}));
  run_for(19 * kNsPerSecond);
  EXPECT_EQ(state(id), "PENDING on i0");
  run_for(30 * kNsPerSecond);
  EXPECT_EQ(state(id),
            "FAILED: instance i1 of pool 'p' failed: not ready 20000 ms after its start: not ready");
}

TEST_F(PoolManagerTest, AnInstanceThatDoesNotAnswerIsReplaced) {
  (void)create_pool("p", 8, 2);
  const std::string id = deploy(lease(1, {"a"}));
  servers.find("p", 0)->hangs = true;
  run_for(30 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i1");
  EXPECT_EQ(instances("p"), "i1 READY used 1 free 7");
  EXPECT_TRUE(log.contains("instance i0 failed: it did not answer 3 times: no answer"));
}

TEST_F(PoolManagerTest, WhileTheEngineIsAwayLeasesMoveWhereThereIsRoomAndWaitWhereThereIsNone) {
  (void)create_pool("p", 2, 2, 2, false);
  run_for(3 * kNsPerSecond);
  const std::string first = deploy(lease(2, {"a"})), second = deploy(lease(1, {"b"})),
                    third = deploy(lease(1, {"c"}));
  EXPECT_EQ(instances("p"), "i0 READY used 2 free 0; i1 READY used 2 free 0");
  servers.engine_is_away = true;
  servers.find("p", 0)->hangs = true;
  run_for(3600 * kNsPerSecond - 60 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "i0 FAILED used 0 free 2; i1 READY used 2 free 0");
  EXPECT_EQ(state(first), "PENDING on i0");
  servers.engine_returns();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(first), "ACTIVE on i0");
  EXPECT_EQ(state(second), "ACTIVE on i1");
  EXPECT_EQ(state(third), "ACTIVE on i1");
}

TEST_F(PoolManagerTest, AWaitingLeaseCanBeReleased) {
  (void)create_pool("p", 2, 1);
  const std::string id = deploy(lease(2, {"a"}));
  servers.engine_is_away = true;
  servers.find("p", 0)->hangs = true;
  run_for(60 * kNsPerSecond);
  EXPECT_EQ(state(id), "PENDING on i0");
  EXPECT_EQ(release(id), "");
  run_for(kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASED");
  servers.engine_returns();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(instances("p"), "");
}

// --- pools ---

TEST_F(PoolManagerTest, APoolsNameIsFreeWhenItsLastInstanceIsGone) {
  (void)create_pool("p", 8, 2, 1);
  EXPECT_EQ(create_pool("p", 8, 2), "ALREADY_EXISTS: pool 'p' already exists");
  const std::string id = deploy(lease(1, {"a"}));
  run([&] {
    EXPECT_EQ(text_of(manager->delete_pool("p", false)),
              "FAILED_PRECONDITION: pool 'p' has 1 lease: release them, or delete it with force");
    EXPECT_EQ(text_of(manager->delete_pool("q", false)), "NOT_FOUND: pool 'q' is not found");
    EXPECT_EQ(text_of(manager->delete_pool("p", true)), "");
    EXPECT_EQ(text_of(manager->update_pool("p", 2, 3)), "FAILED_PRECONDITION: pool 'p' is being deleted");
  });
  EXPECT_EQ(acquire(lease(1, {"b"})), "FAILED_PRECONDITION: pool 'p' is being deleted");
  EXPECT_EQ(create_pool("p", 8, 2), "ALREADY_EXISTS: pool 'p' already exists");
  run_for(kNsPerSecond);
  EXPECT_EQ(instances("p"), "no pool");
  EXPECT_EQ(state(id), "RELEASED");
  EXPECT_EQ(servers.running(), 0u);
  EXPECT_EQ(create_pool("p", 8, 2), "");
}

TEST_F(PoolManagerTest, PoolsDoNotDisturbEachOther) {
  (void)create_pool("p", 8, 1);
  (void)create_pool("q", 8, 1);
  const std::string mine = deploy(lease(8, {"a"}));
  LeaseDefinition other = lease(8, {"a"});
  other.pool = "q";
  const std::string theirs = deploy(other);
  EXPECT_EQ(state(mine), "ACTIVE on i0");
  EXPECT_EQ(state(theirs), "ACTIVE on i0");
  servers.kill("q", 0);
  run_for(10 * kNsPerMs);
  EXPECT_EQ(state(mine), "ACTIVE on i0");
}

TEST_F(PoolManagerTest, APlanChangesNothing) {
  (void)create_pool("p", 8, 2);
  (void)deploy(lease(5, {"a"}));
  run([&] {
    Result<LeasePlan> plan = manager->plan(lease(3, {"a2"}));
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(plan->starts_instance);
    ASSERT_EQ(plan->instances.size(), 1u);
    EXPECT_EQ(plan->instances[0].why_not, "free 3 (in use, and the lease's backends are not known)");
    EXPECT_EQ(manager->plan(lease(9, {"a2"})).status().code(), Code::kInvalidArgument);
  });
  EXPECT_EQ(instances("p"), "i0 READY used 5 free 3");
  EXPECT_EQ(servers.servers().size(), 1u);
}

TEST_F(PoolManagerTest, ANameStandsForOneLeaseAfterTheOther) {
  (void)create_pool("p", 8, 2, 0, false);
  const std::string first = deploy(lease(1, {"a"})), second = deploy(lease(1, {"b"}));
  run([&] {
    EXPECT_EQ(text_of(manager->set_name("", "live", first)), "");
    EXPECT_EQ(text_of(manager->set_name("", "live", second)), "");
    EXPECT_EQ(manager->book().names.of_owner("").at("live"), second);
    EXPECT_EQ(text_of(manager->set_name("", "a/b", second)).substr(0, 17), "INVALID_ARGUMENT:");
    EXPECT_EQ(text_of(manager->set_name("", "live", "id-0")), "NOT_FOUND: lease 'id-0' is not found");
    EXPECT_EQ(text_of(manager->delete_name("", "live")), "");
    EXPECT_EQ(text_of(manager->delete_name("", "live")), "NOT_FOUND: lease name 'live' is not found");
  });
}

}  // namespace
}  // namespace atl::pools
