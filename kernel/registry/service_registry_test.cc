#include "kernel/registry/service_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace atl::kernel {
namespace {

constexpr const char* kId = "test.thing/1";

class ServiceRegistryTest : public testing::Test {
 protected:
  OwnerId provider(const std::string& name, void* implementation, int32_t rank = 0, const char* id = kId) {
    OwnerId owner = registry.add_owner(name, {}, {});
    registry.publish({owner, {id, name, "test/" + name, 3, rank}, implementation});
    return owner;
  }
  OwnerId holder(const std::string& name, std::map<std::string, std::string> bindings = {}) {
    return registry.add_owner(name, std::move(bindings), {kId});
  }
  std::atomic<int> idle{0};
  ServiceRegistry registry{[this] { idle.fetch_add(1); }};
  int one = 1;
  int two = 2;
};

TEST_F(ServiceRegistryTest, FindsByNameByBindingAndByRank) {
  provider("a", &one, 0);
  OwnerId user = holder("user");
  EXPECT_EQ(registry.acquire(user, kId, "")->implementation, &one);
  provider("b", &two, 5);
  EXPECT_EQ(registry.acquire(user, kId, "")->implementation, &two);
  EXPECT_EQ(registry.acquire(user, kId, "a")->implementation, &one);
  EXPECT_EQ(registry.acquire(user, kId, "a")->minor, 3u);
  OwnerId bound = holder("bound", {{kId, "a"}});
  EXPECT_EQ(registry.acquire(bound, kId, "")->implementation, &one);
  ASSERT_EQ(registry.list(user, kId).size(), 2u);
  EXPECT_EQ(registry.list(user, kId)[1].plugin, "test/b");
  EXPECT_TRUE(registry.list(user, "test.other/1").empty());
}

TEST_F(ServiceRegistryTest, SaysWhyNot) {
  OwnerId user = holder("user");
  EXPECT_EQ(registry.acquire(user, kId, "").status().text(), "no instance provides test.thing/1");
  provider("a", &one);
  provider("b", &two);
  Status missing = registry.acquire(user, kId, "c").status().clone();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.text(), "plugin 'c' does not provide test.thing/1; those that do: a, b");
  Status tied = registry.acquire(user, kId, "").status().clone();
  EXPECT_EQ(tied.code(), Code::kFailedPrecondition);
  EXPECT_EQ(tied.text(), "test.thing/1: 'a' and 'b' provide it with the same rank 0; name one");
  Status undeclared = registry.acquire(user, "test.other/1", "").status().clone();
  EXPECT_EQ(undeclared.code(), Code::kFailedPrecondition);
  EXPECT_EQ(undeclared.text(), "plugin 'user': test.other/1 is not among the needs of its descriptor");
}

TEST_F(ServiceRegistryTest, AWithdrawnProviderWaitsForItsHolders) {
  OwnerId owner = provider("a", &one);
  OwnerId user = holder("user");
  uint64_t first = registry.acquire(user, kId, "")->token;
  uint64_t second = registry.acquire(user, kId, "")->token;
  auto changes = registry.withdraw(owner);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].kind, ServiceChange::Kind::kWithdrawn);
  EXPECT_EQ(registry.acquire(user, kId, "a").status().code(), Code::kUnavailable);
  EXPECT_EQ(registry.acquire(user, kId, "").status().code(), Code::kNotFound);
  EXPECT_EQ(holdings_text(registry.holders_of(owner)), "user (2 x test.thing/1)");
  registry.release(first);
  registry.release(first);
  EXPECT_EQ(idle.load(), 0);
  registry.release(second);
  EXPECT_EQ(idle.load(), 1);
  EXPECT_TRUE(registry.holders_of(owner).empty());
  registry.remove_owner(owner);
  EXPECT_EQ(registry.acquire(user, kId, "a").status().code(), Code::kNotFound);
}

TEST_F(ServiceRegistryTest, LeasesLeftBehindAreGivenBackAndNamed) {
  OwnerId owner = provider("a", &one);
  OwnerId user = holder("user");
  ASSERT_TRUE(registry.acquire(user, kId, "").ok());
  registry.withdraw(owner);
  EXPECT_EQ(holdings_text(registry.remove_owner(user)), "a (test.thing/1)");
  EXPECT_EQ(idle.load(), 1);
  EXPECT_EQ(registry.leases(), 0u);
}

TEST_F(ServiceRegistryTest, ANextTableIsSeenByItsOwnersOnly) {
  OwnerId old_a = provider("a", &one);
  OwnerId user = holder("user");
  registry.open_next({old_a});
  OwnerId new_user = holder("user");
  EXPECT_EQ(registry.acquire(new_user, kId, "").status().code(), Code::kNotFound);
  OwnerId new_a = provider("a", &two);
  EXPECT_EQ(registry.acquire(new_user, kId, "")->implementation, &two);
  EXPECT_EQ(registry.acquire(user, kId, "")->implementation, &one);
  EXPECT_EQ(registry.services(), 1u);

  auto changes = registry.commit_next();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].kind, ServiceChange::Kind::kReplaced);
  EXPECT_EQ(registry.acquire(user, kId, "")->implementation, &two);
  EXPECT_EQ(registry.holders_of(old_a).size(), 1u);
  EXPECT_EQ(registry.holders_of(new_a).size(), 2u);
  EXPECT_TRUE(registry.withdraw(old_a).empty());
}

TEST_F(ServiceRegistryTest, AnAbandonedTableChangesNothing) {
  OwnerId old_a = provider("a", &one);
  OwnerId user = holder("user");
  registry.open_next({old_a});
  OwnerId new_a = provider("a", &two);
  provider("b", &two);
  registry.abandon_next();
  EXPECT_EQ(registry.services(), 1u);
  EXPECT_EQ(registry.acquire(user, kId, "")->implementation, &one);
  EXPECT_TRUE(registry.remove_owner(new_a).empty());
}

TEST_F(ServiceRegistryTest, CommitTellsOfNewAndGoneServices) {
  OwnerId a = provider("a", &one);
  registry.open_next({a});
  provider("b", &two);
  auto changes = registry.commit_next();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].kind, ServiceChange::Kind::kPublished);
  EXPECT_EQ(changes[0].instance, "b");
  EXPECT_EQ(changes[1].kind, ServiceChange::Kind::kWithdrawn);
  EXPECT_EQ(changes[1].instance, "a");
}

TEST_F(ServiceRegistryTest, AnyThreadMayAcquireAndRelease) {
  OwnerId owner = provider("a", &one);
  OwnerId user = holder("user");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto lease = registry.acquire(user, kId, "");
        if (lease.ok()) registry.release(lease->token);
      }
    });
  }
  registry.withdraw(owner);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(registry.holders_of(owner).empty());
  EXPECT_EQ(registry.leases(), 0u);
}

}  // namespace
}  // namespace atl::kernel
