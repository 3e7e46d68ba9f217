// The process ends at each write to its disk: nothing that was acknowledged is lost, and nothing is left behind.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "atoll/testing/temporary_directory.h"
#include "pools/leases/testing/failing_disk.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

/// What clients were told.
struct Acknowledged {
  bool pool = false;
  std::vector<std::string> leases;
  std::vector<std::string> released;
};

/// Two leases come, one goes, and an instance dies: until the disk fails. \returns whether it did not
bool live_until_the_disk_fails(PoolBench& bench, Acknowledged& told) {
  if (!bench.create_pool("p", 4, 2, 1, false).empty()) return false;
  told.pool = true;
  for (const char* model : {"a", "b", "a2"}) {
    const std::string id = bench.acquire(PoolBench::lease(2, {model}));
    if (!id.starts_with("id-")) return false;
    told.leases.push_back(id);
    bench.run_for(3 * kNsPerSecond);
  }
  bench.servers.kill("p", 0);
  bench.run_for(3 * kNsPerSecond);
  if (!bench.release(told.leases[0]).empty()) return false;
  told.released.push_back(told.leases[0]);
  bench.run_for(kNsPerSecond);
  return true;
}

void expect_nothing_lost(PoolBench& bench, const Acknowledged& told) {
  if (told.pool) {
    ASSERT_NE(bench.manager->book().find_pool("p"), nullptr);
  }
  for (const std::string& id : told.leases) {
    const bool is_released = std::ranges::find(told.released, id) != told.released.end();
    const std::string state = bench.state(id);
    // A release that was asked for and not acknowledged may have happened.
    EXPECT_TRUE(is_released ? state == "RELEASED" : state.starts_with("ACTIVE") || state == "RELEASED")
        << bench.describe(id);
  }
}

/// Also what a client was not told of, because the process ended before.
void expect_nothing_left(PoolBench& bench) {
  for (const Lease* lease : bench.manager->book().leases.of_pool({})) (void)bench.release(lease->id());
  bench.run([&] { (void)bench.manager->delete_pool("p", true).ok(); });
  bench.run_for(200 * kNsPerSecond);
  EXPECT_EQ(bench.manager->book().pools.size(), 0u);
  EXPECT_EQ(bench.servers.servers().size(), 0u);
}

TEST(PoolCrash, AtEachWriteNothingIsLostAndNothingLeft) {
  bool failed = true;
  uint64_t successes = 0;
  for (; failed; ++successes) {
    ASSERT_LT(successes, 1000u) << "it does not come to its end";
    SCOPED_TRACE(cat("after ", successes, " writes"));
    test::TemporaryDirectory directory;
    FailingDisk disk;
    PoolBench bench(1, directory.path());
    disk.fail_after(successes, SQLITE_IOERR);
    Acknowledged told;
    failed = !live_until_the_disk_fails(bench, told);
    bench.stop();
    bench.store.reset();
    disk.repair();
    bench.reopen(directory.path());
    bench.run_for(60 * kNsPerSecond);
    expect_nothing_lost(bench, told);
    expect_nothing_left(bench);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(successes, 30u) << "nothing was tested";
}

TEST(PoolCrash, AFullDiskRefusesWhatIsNewAndEndsNothingThatIsUsed) {
  test::TemporaryDirectory directory;
  FailingDisk disk;
  PoolBench bench(1, directory.path());
  ASSERT_EQ(bench.create_pool("p", 8, 1), "");
  LeaseDefinition used = PoolBench::lease(1, {"a"}, 10 * kNsPerSecond);
  used.auto_renew = AutoRenew{};
  const std::string id = bench.deploy(used);
  ASSERT_EQ(bench.state(id), "ACTIVE on i0");
  disk.fail_after(0);
  EXPECT_TRUE(bench.acquire(PoolBench::lease(1, {"b"})).starts_with("RESOURCE_EXHAUSTED: "));
  EXPECT_TRUE(bench.create_pool("q", 8, 1).starts_with("UNAVAILABLE: "));
  EXPECT_TRUE(bench.release(id).starts_with("UNAVAILABLE: "));
  EXPECT_EQ(bench.state(id), "ACTIVE on i0") << "not released, as its client was told";
  for (int second = 0; second < 60; ++second) {
    bench.last_uses[id] = bench.steady.now_ns();
    bench.run_for(kNsPerSecond);
  }
  EXPECT_EQ(bench.state(id), "ACTIVE on i0");
  disk.repair();
  EXPECT_EQ(bench.acquire(PoolBench::lease(1, {"a2"})).substr(0, 18), "RESOURCE_EXHAUSTED")
      << "an unknown model";
  EXPECT_EQ(bench.instances("p"), "i0 READY used 1 free 7") << "nothing is taken by what was refused";
  EXPECT_EQ(bench.release(id), "");
  bench.run_for(kNsPerSecond);
  EXPECT_EQ(bench.state(id), "RELEASED");
}

}  // namespace
}  // namespace atl::pools
