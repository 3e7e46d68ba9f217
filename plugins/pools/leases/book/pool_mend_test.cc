// What pools do when an instance has lost a model, and when nothing can be recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "atoll/testing/temporary_directory.h"
#include "pools/leases/testing/failing_disk.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

using Models = std::vector<std::string>;

class PoolMendTest : public testing::Test, public PoolBench {};

// --- what an instance has lost ---

TEST_F(PoolMendTest, AModelThatItsInstanceHasLostIsLoadedAgain) {
  (void)create_pool("p", 8, 1);
  const std::string id = deploy(lease(1, {"tokenizer", "model"}));
  servers.history.clear();
  std::erase(servers.find("p", 0)->models, "tokenizer");
  servers.load_ns = 8 * kNsPerSecond;
  run_for(settings.health_interval_ns + kNsPerSecond);
  EXPECT_EQ(state(id), "DEPLOYING on i0") << "it does not serve, and says so";
  const Lease* found = manager->book().leases.find(id);
  EXPECT_EQ(found->models()[0].state, ModelState::kLoading);
  EXPECT_EQ(found->models()[1].state, ModelState::kReady);
  run([&] {
    const Status refusal = routes->find("tokenizer", {}).status().clone();
    EXPECT_EQ(text_of(refusal),
              cat("UNAVAILABLE: model 'tokenizer' is not ready: lease '", id, "' is DEPLOYING"));
  });
  EXPECT_TRUE(log.contains("model 'tokenizer': its instance has lost it; it is loaded again"));
  run_for(8 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  EXPECT_EQ(servers.history, (Models{"+tokenizer"})) << "and the other one is left alone";
  run([&] { EXPECT_TRUE(routes->find("tokenizer", {}).ok()); });
  run_for(10 * settings.health_interval_ns);
  EXPECT_EQ(servers.history, (Models{"+tokenizer"}));
  EXPECT_EQ(count("lease.active"), 2u);
  EXPECT_EQ(release(id), "");
  run_for(20 * kNsPerSecond);
  EXPECT_EQ(state(id), "RELEASED");
}

TEST_F(PoolMendTest, OneThatDoesNotLoadAgainFailsItsLease) {
  (void)create_pool("p", 8, 1, 0, false);
  const std::string id = deploy(lease(3, {"a", "b"}));
  std::erase(servers.find("p", 0)->models, "b");
  servers.broken["b"] = "no such file: model.onnx";
  run_for(settings.health_interval_ns + kNsPerSecond);
  EXPECT_EQ(state(id), "DEPLOYING on i0") << "it is tried again";
  run_for(60 * kNsPerSecond);
  EXPECT_EQ(state(id),
            "FAILED: model 'b' was lost by its instance and failed to load again: no such file: model.onnx");
  EXPECT_TRUE(servers.find("p", 0) == nullptr || servers.find("p", 0)->models.empty());
}

TEST_F(PoolMendTest, OneThatLoadsAtTheSecondTryServesOn) {
  (void)create_pool("p", 8, 1, 0, false);
  const std::string id = deploy(lease(3, {"a", "b"}));
  servers.find("p", 0)->models.clear();
  servers.broken["a"] = "out of memory";
  run_for(settings.health_interval_ns + kNsPerSecond);
  servers.broken.clear();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i0");
  EXPECT_EQ(servers.find("p", 0)->models, (Models{"a", "b"}));
}

TEST_F(PoolMendTest, ALeaseThatMendsCanEndAndLoseItsInstance) {
  (void)create_pool("p", 8, 2, 0, false);
  const std::string first = deploy(lease(3, {"a"})), second = deploy(lease(3, {"b"}));
  servers.load_ns = 8 * kNsPerSecond;
  servers.find("p", 0)->models.clear();
  run_for(settings.health_interval_ns + kNsPerSecond);
  EXPECT_EQ(state(first), "DEPLOYING on i0");
  EXPECT_EQ(release(first), "");
  servers.kill("p", 0);
  run_for(20 * kNsPerSecond);
  EXPECT_EQ(state(first), "RELEASED");
  EXPECT_EQ(state(second), "ACTIVE on i1");
  EXPECT_EQ(servers.find("p", 1)->models, (Models{"b"}));
}

TEST_F(PoolMendTest, AnInstanceThatDoesNotSayWhatItHasIsReplaced) {
  (void)create_pool("p", 8, 2);
  const std::string id = deploy(lease(1, {"a"}));
  servers.find("p", 0)->is_dumb = true;
  run_for(30 * kNsPerSecond);
  EXPECT_EQ(state(id), "ACTIVE on i1");
  EXPECT_TRUE(
      log.contains("instance i0 failed: it did not answer 3 times: the repository's index is no JSON array"));
}

TEST_F(PoolMendTest, EachServerHasAKeyOfItsOwnThatOutlivesTheProcess) {
  (void)create_pool("p", 8, 2, 2);
  run_for(3 * kNsPerSecond);
  const std::string first = servers.find("p", 0)->spec.key, second = servers.find("p", 1)->spec.key;
  EXPECT_NE(first, "");
  EXPECT_NE(first, second);
  restart();
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(servers.keys["p"], (std::set<std::string>{first, second})) << "as they are adopted";
}

// --- a disk that is full ---

TEST_F(PoolMendTest, WhatCanNotBeRecordedIsRefusedAndToldOnce) {
  test::TemporaryDirectory directory;
  FailingDisk disk;
  stop();
  reopen(directory.path());
  (void)create_pool("p", 8, 2);
  disk.fail_after(0);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(acquire(lease(1, {"a"})),
              "UNAVAILABLE: the change cannot be recorded: database or disk is full");
  const auto told = [&] {
    return std::ranges::count_if(log.records(), [&](const test::LogRecord& record) {
      return record.message.find(directory.path()) != std::string::npos && record.level == LogLevel::kError;
    });
  };
  EXPECT_EQ(told(), 1) << "with the name of the file";
  disk.repair();
  EXPECT_EQ(state(deploy(lease(1, {"a"}))), "ACTIVE on i0");
  EXPECT_TRUE(log.contains("pools.sqlite can be written again"));
  disk.fail_after(0);
  EXPECT_EQ(create_pool("q", 8, 2), "UNAVAILABLE: the change cannot be recorded: database or disk is full");
  EXPECT_EQ(told(), 2);
  disk.repair();
  stop();
  store.reset();
}

}  // namespace
}  // namespace atl::pools
