#include "backends/python/process/system_user.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace atl::python {
namespace {

TEST(SystemUser, IsFoundByNameAndNumber) {
  const SystemUser root = SystemUser::find("root").value();
  EXPECT_EQ(root.id, 0u);
  EXPECT_EQ(root.group, 0u);
  EXPECT_EQ(root.name, "root");
  EXPECT_FALSE(root.home.empty());
  EXPECT_EQ(SystemUser::find("0").value().name, "root");
}

TEST(SystemUser, ANumberThatNobodyHasIsAUserOfItsOwn) {
  const SystemUser user = SystemUser::find("4294967001").value();
  EXPECT_EQ(user.id, 4294967001u);
  EXPECT_EQ(user.group, 4294967001u);
  EXPECT_EQ(user.name, "");
  EXPECT_EQ(user.groups(), std::vector<gid_t>{4294967001u});
}

TEST(SystemUser, IsInItsOwnGroupAtLeast) {
  const SystemUser nobody = SystemUser::find("nobody").value();
  const std::vector<gid_t> groups = nobody.groups();
  EXPECT_NE(std::find(groups.begin(), groups.end(), nobody.group), groups.end());
}

TEST(SystemUser, OthersAreNone) {
  EXPECT_EQ(SystemUser::find("no such user").status().text(), "there is no user 'no such user'");
  EXPECT_EQ(SystemUser::find("4294967296").status().code(), Code::kNotFound)
      << "more than a number of a user";
  EXPECT_EQ(SystemUser::find("").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace atl::python
