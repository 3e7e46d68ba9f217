#include "memory/shared/region_table.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::memory {
namespace {

class RegionTableTest : public ::testing::Test {
 protected:
  Region* make(const std::string& name, int64_t now_ns = 0) {
    UsageShare share(usage_);
    EXPECT_TRUE(share.add_region());
    SharedMemoryRegion about;
    about.name = name;
    return new Region(std::move(about), "", std::move(share), Mapping(), now_ns);
  }

  RegionUsage usage_{100, 0};
  RegionTable table_;
};

TEST_F(RegionTableTest, FindsWhatWasInserted) {
  Region* region = make("a");
  EXPECT_TRUE(table_.insert(region));
  EXPECT_EQ(table_.acquire("", "b"), nullptr);
  Region* found = table_.acquire("", "a");
  EXPECT_EQ(found, region);
  EXPECT_EQ(found->references(), 2u);
  table_.release(found);
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(RegionTableTest, ATakenNameLeavesTheRegionWithItsCaller) {
  EXPECT_TRUE(table_.insert(make("a")));
  Region* second = make("a");
  EXPECT_FALSE(table_.insert(second));
  EXPECT_EQ(second->references(), 1u);
  delete second;
  EXPECT_EQ(usage_.regions(), 1u);
}

TEST_F(RegionTableTest, RegionsAreFoundUntilTheirLastReferenceIsGone) {
  table_.insert(make("a"));
  table_.insert(make("b"));
  Region* first = table_.acquire("", "a");
  table_.remove("", "a");
  table_.remove("", "a");
  Region* second = table_.acquire("", "a");
  EXPECT_EQ(second, first);
  EXPECT_EQ(table_.size(), 2u);
  table_.release(first);
  EXPECT_EQ(usage_.regions(), 2u);
  table_.release(second);
  EXPECT_EQ(table_.acquire("", "a"), nullptr);
  EXPECT_EQ(usage_.regions(), 1u);
  table_.remove_all();
  EXPECT_EQ(usage_.regions(), 0u);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(RegionTableTest, ANameIsFreeWhenItsRegionIsUnregistered) {
  table_.insert(make("a"));
  Region* old = table_.acquire("", "a");
  table_.remove_all();
  Region* next = make("a");
  EXPECT_TRUE(table_.insert(next));
  EXPECT_EQ(usage_.regions(), 2u);
  table_.release(old);
  EXPECT_EQ(usage_.regions(), 1u);
  Region* found = table_.acquire("", "a");
  EXPECT_EQ(found, next) << "it took nothing of the other with it";
  table_.release(found);
}

TEST_F(RegionTableTest, ListsByName) {
  for (const char* name : {"b", "c", "a"}) table_.insert(make(name));
  std::string names;
  for (Region* region : table_.all()) {
    names += region->about().name;
    table_.release(region);
  }
  EXPECT_EQ(names, "abc");
}

TEST_F(RegionTableTest, RemovesOnlyWhatNobodyUses) {
  table_.insert(make("a", 10));
  Region* mine = table_.acquire("", "a");
  Region* other = table_.acquire("", "a");
  EXPECT_FALSE(table_.remove_unused(mine, 10)) << "somebody uses it";
  table_.release(other);
  EXPECT_FALSE(table_.remove_unused(mine, 9)) << "somebody has used it since";
  table_.remove("", "a");
  EXPECT_FALSE(table_.remove_unused(mine, 10)) << "it is not registered";
  table_.release(mine);
  table_.insert(make("a", 10));
  mine = table_.acquire("", "a");
  EXPECT_TRUE(table_.remove_unused(mine, 10));
  EXPECT_FALSE(table_.remove_unused(mine, 10)) << "it is no longer there";
  table_.insert(make("a", 0));
  EXPECT_FALSE(table_.remove_unused(mine, 10)) << "another has its name";
  table_.release(mine);
  EXPECT_EQ(table_.size(), 1u);
}

TEST(RegionUsage, IsNeverOverALimit) {
  RegionUsage usage(2, 10);
  EXPECT_TRUE(usage.add_bytes(9));
  EXPECT_FALSE(usage.add_bytes(2));
  EXPECT_TRUE(usage.add_bytes(1));
  EXPECT_FALSE(usage.add_bytes(1));
  EXPECT_FALSE(usage.add_bytes(UINT64_MAX));
  {
    UsageShare first(usage);
    UsageShare second(usage);
    UsageShare third(usage);
    EXPECT_TRUE(first.add_region() && second.add_region());
    EXPECT_FALSE(third.add_region());
    UsageShare moved(std::move(first));
    EXPECT_EQ(usage.regions(), 2u);
  }
  EXPECT_EQ(usage.regions(), 0u);
  EXPECT_EQ(usage.bytes(), 10u);
}

}  // namespace
}  // namespace atl::memory
