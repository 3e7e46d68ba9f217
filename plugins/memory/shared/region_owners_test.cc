#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/shared_memory_object.h"
#include "memory/shared/regions.h"

namespace atl::memory {
namespace {

using test::TestObject;

class RegionOwnersTest : public ::testing::Test {
 protected:
  RegionOwnersTest() { EXPECT_TRUE(BusErrorGuard::install().ok()); }
  ~RegionOwnersTest() override {
    regions_.unregister_all();
    BusErrorGuard::uninstall();
  }
  static RegionSettings settings() {
    RegionSettings settings;
    settings.allow_client_shm = true;
    settings.max_regions = 3;
    return settings;
  }
  Status add(std::string_view owner, std::string_view name) {
    return regions_.register_system_for(owner, name, object_.key(), 0, 8);
  }
  size_t count(std::string_view owner) {
    return regions_.status_for(owner, RegionKind::kSystem, "").value().size();
  }
  bool finds(std::string_view owner, std::string_view name) {
    auto lease = regions_.acquire_for(owner, name, 0, 8);
    const bool has_status = regions_.status_for(owner, RegionKind::kSystem, name).ok();
    EXPECT_EQ(has_status, lease.ok());
    if (lease.ok()) regions_.release(*lease);
    return lease.ok();
  }

  test::FakeClock clock_;
  TestObject object_{8};
  Regions regions_{settings(), clock_};
};

TEST_F(RegionOwnersTest, AnotherOwnersRegionIsUnknown) {
  ASSERT_TRUE(add("blue", "r").ok());
  EXPECT_TRUE(finds("blue", "r"));
  for (const char* other : {"red", "", "blue2", "blu"}) EXPECT_FALSE(finds(other, "r")) << other;
  const Status unknown = regions_.acquire_for("red", "never", 0, 8).status();
  const Status others = regions_.acquire_for("red", "r", 0, 8).status();
  EXPECT_EQ(others.code(), unknown.code());
  EXPECT_EQ(others.message(), "Unable to find shared memory region: 'r'");
  EXPECT_EQ(count("red"), 0u);
  EXPECT_EQ(count(""), 0u);
  EXPECT_EQ(count("blue"), 1u);
}

TEST_F(RegionOwnersTest, OwnersHaveTheirOwnNames) {
  ASSERT_TRUE(add("blue", "r").ok());
  EXPECT_TRUE(add("red", "r").ok()) << "that the name is taken would say that there is one";
  EXPECT_TRUE(add("", "r").ok());
  EXPECT_EQ(add("blue", "r").code(), Code::kAlreadyExists);
  // Nobody's name is made of two.
  EXPECT_FALSE(finds("blu", "er"));
  EXPECT_FALSE(finds("r", "blue"));
}

TEST_F(RegionOwnersTest, UnregisteringAllIsOfOnesOwn) {
  ASSERT_TRUE(add("blue", "a").ok());
  ASSERT_TRUE(add("red", "a").ok());
  ASSERT_TRUE(add("", "a").ok());
  ASSERT_TRUE(regions_.unregister_for("red", RegionKind::kSystem, "").ok());
  EXPECT_FALSE(finds("red", "a"));
  ASSERT_TRUE(regions_.unregister(RegionKind::kSystem, "").ok());
  EXPECT_FALSE(finds("", "a"));
  EXPECT_TRUE(regions_.unregister_for("red", RegionKind::kSystem, "a").ok()) << "as of any unknown name";
  EXPECT_TRUE(finds("blue", "a"));
}

TEST_F(RegionOwnersTest, TheLimitIsTheServers) {
  for (const char* owner : {"blue", "red", ""}) ASSERT_TRUE(add(owner, "r").ok());
  EXPECT_EQ(add("green", "r").code(), Code::kResourceExhausted);
}

TEST_F(RegionOwnersTest, ARegionInUseStaysItsOwners) {
  ASSERT_TRUE(add("blue", "r").ok());
  auto lease = regions_.acquire_for("blue", "r", 0, 8);
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(regions_.unregister_for("blue", RegionKind::kSystem, "r").ok());
  EXPECT_FALSE(finds("red", "r"));
  EXPECT_TRUE(add("red", "r").ok());
  regions_.release(*lease);
  EXPECT_TRUE(finds("red", "r"));
}

}  // namespace
}  // namespace atl::memory
