#include "memory/shared/shared_memory_plugin.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>

#include "atoll/memory/memory.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/shared_memory_object.h"

namespace atl::memory {
namespace {

using test::page;
using test::TestObject;

class SharedMemoryPluginTest : public ::testing::Test {
 protected:
  SharedMemoryPluginTest() { set(false, 0); }

  void set(bool allow, int64_t idle_timeout_ns, std::vector<std::string> owners = {}) {
    host_.options()
        .set_bool("allow_client_shm", allow)
        .set_int("max_regions", 4)
        .set_bytes("max_bytes", 0)
        .set_strings("allowed_owners", std::move(owners))
        .set_duration_ns("idle_timeout", idle_timeout_ns);
  }
  static bool guarded() {
    struct sigaction current = {};
    sigaction(SIGBUS, nullptr, &current);
    return current.sa_sigaction != before_.sa_sigaction;
  }
  static void SetUpTestSuite() { sigaction(SIGBUS, nullptr, &before_); }

  static struct sigaction before_;
  test::FakeHost host_{"shared"};
};
struct sigaction SharedMemoryPluginTest::before_ = {};

TEST_F(SharedMemoryPluginTest, IsOffByDefaultAndTouchesNothing) {
  const std::span options(atoll_plugin_v1.options, atoll_plugin_v1.options_count);
  EXPECT_STREQ(options[0].key, "allow_client_shm");
  EXPECT_STREQ(options[0].default_value, "false");
  EXPECT_STREQ(options[1].key, "max_regions");
  EXPECT_STREQ(options[1].default_value, "1024");
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  EXPECT_FALSE(guarded());
  auto* memory = plugin.query<SharedMemory>();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->register_system("r", "/x", 0, 1).code(), Code::kUnimplemented);
}

TEST_F(SharedMemoryPluginTest, ServesFromStartToStop) {
  set(true, 0);
  TestObject object(page());
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  EXPECT_TRUE(guarded());
  auto* memory = plugin.query<SharedMemory>();
  ASSERT_NE(memory, nullptr);
  EXPECT_NE(plugin.query<MetricSource>(), nullptr);
  EXPECT_EQ(plugin.query<Memory>(), nullptr);
  ASSERT_TRUE(memory->register_system("r", object.key(), 0, 1).ok());
  EXPECT_EQ(object.mappings(), 1);
  plugin.stop();
  EXPECT_EQ(object.mappings(), 0);
  EXPECT_FALSE(guarded());
}

TEST_F(SharedMemoryPluginTest, SaysWhatRequestsHold) {
  set(true, 0);
  TestObject object(page());
  SharedMemoryPlugin plugin(host_);
  ASSERT_TRUE(plugin.init().ok());
  ASSERT_TRUE(plugin.start().ok());
  SharedMemory* memory = &plugin.regions();
  ASSERT_TRUE(memory->register_system("r", object.key(), 0, 1).ok());
  EXPECT_EQ(plugin.holding(), "");
  auto lease = memory->acquire("r", 0, 1);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(plugin.holding(), "1 shared memory regions that requests use");
  memory->release(lease.value());
  plugin.stop();
}

TEST_F(SharedMemoryPluginTest, UnregistersIdleRegions) {
  set(true, 5 * kNsPerSecond);
  TestObject object(page());
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto* memory = plugin.query<SharedMemory>();
  host_.run_for(3 * kNsPerSecond);
  ASSERT_TRUE(memory->register_system("r", object.key(), 0, 1).ok());
  host_.run_for(5 * kNsPerSecond - 1);
  EXPECT_TRUE(memory->status(RegionKind::kSystem, "r").ok());
  host_.run_for(1);
  EXPECT_FALSE(memory->status(RegionKind::kSystem, "r").ok());
  EXPECT_EQ(object.mappings(), 0);
  EXPECT_TRUE(host_.log().contains("shared memory region 'r' is unregistered: nobody used it for 5000 ms"));
}

TEST_F(SharedMemoryPluginTest, RegionsStayWhenTheOptionsChange) {
  set(true, 0);
  TestObject object(page());
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto* memory = plugin.query<SharedMemory>();
  auto* follower = plugin.query<OptionsFollower>();
  ASSERT_NE(follower, nullptr);
  ASSERT_TRUE(memory->register_system("r", object.key(), 0, 1).ok());
  host_.run_for(3600 * kNsPerSecond);

  set(true, 5 * kNsPerSecond);
  host_.options().set_int("max_regions", 1);
  ASSERT_TRUE(follower->can_follow(host_.options()));
  follower->follow(host_.options());
  host_.run_for(5 * kNsPerSecond - 1);
  EXPECT_TRUE(memory->status(RegionKind::kSystem, "r").ok()) << "its idle time begins with the change";
  EXPECT_FALSE(memory->register_system("s", object.key(), 0, 1).ok()) << "one more than max_regions";
  host_.run_for(1);
  EXPECT_FALSE(memory->status(RegionKind::kSystem, "r").ok());

  set(true, 0);
  follower->follow(host_.options());
  ASSERT_TRUE(memory->register_system("r", object.key(), 0, 1).ok());
  host_.run_for(3600 * kNsPerSecond);
  EXPECT_TRUE(memory->status(RegionKind::kSystem, "r").ok());
  plugin.stop();
}

TEST_F(SharedMemoryPluginTest, WhatIsSwitchedOffAndMistakesAreNotFollowed) {
  set(true, 0);
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto* follower = plugin.query<OptionsFollower>();
  set(false, 0);
  EXPECT_FALSE(follower->can_follow(host_.options()));
  set(true, 0, {"no-such-user"});
  EXPECT_FALSE(follower->can_follow(host_.options()));
  plugin.stop();
}

TEST_F(SharedMemoryPluginTest, AStartWithoutAThreadLeavesNothing) {
  set(true, kNsPerSecond);
  host_.simulation().refuse_creates(1);
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create().ok());
  EXPECT_EQ(plugin.start().code(), Code::kResourceExhausted);
  EXPECT_FALSE(guarded());
}

TEST_F(SharedMemoryPluginTest, OwnersAreNamesOrNumbers) {
  auto users = find_users({"root", "1234"});
  ASSERT_TRUE(users.ok());
  EXPECT_EQ(users.value(), (std::vector<uid_t>{0, 1234}));
  for (const char* unknown : {"no-such-user", "", "-1", "12x", "99999999999"}) {
    EXPECT_EQ(find_users({unknown}).status().message(),
              cat("option 'allowed_owners' has '", unknown, "', expected the name or number of a user"));
  }
  set(true, 0, {"no-such-user"});
  test::PluginRunner plugin(host_);
  EXPECT_EQ(plugin.create().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::memory
