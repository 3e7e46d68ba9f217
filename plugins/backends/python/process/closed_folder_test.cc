#include "backends/python/process/closed_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "atoll/testing/temporary_directory.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

/// <directory>/home/tree/worker.py, and a folder beside it that links lead through.
class ClosedFolder : public ::testing::Test {
 protected:
  ClosedFolder() {
    fs::create_directories(tree_);
    fs::create_directories(beside_);
    std::ofstream(tree_ / "worker.py") << "pass\n";
    set_mode(directory_.path(), 0755);
    set_mode(home_, 0755);
    set_mode(tree_, 0755);
    set_mode(beside_, 0755);
  }
  static void set_mode(const fs::path& folder, mode_t mode) { ASSERT_EQ(::chmod(folder.c_str(), mode), 0); }
  std::string closed(const fs::path& path, uid_t user = kOther, std::vector<gid_t> groups = {kOther}) const {
    return folder_closed_to(user, groups, path.string());
  }

  static constexpr uid_t kOther = 4294967001;
  const test::TemporaryDirectory directory_;
  const fs::path home_ = fs::canonical(directory_.path()) / "home";
  const fs::path tree_ = home_ / "tree";
  const fs::path beside_ = fs::canonical(directory_.path()) / "beside";
};

TEST_F(ClosedFolder, NoneIsWhereAllMayEnter) { EXPECT_EQ(closed(tree_ / "worker.py"), ""); }

TEST_F(ClosedFolder, IsTheFirstOnTheWay) {
  set_mode(home_, 0700);
  set_mode(tree_, 0700);
  EXPECT_EQ(closed(tree_ / "worker.py"), home_);
  set_mode(home_, 0711);
  EXPECT_EQ(closed(tree_ / "worker.py"), tree_) << "a folder may be entered that may not be read";
  EXPECT_EQ(closed(tree_), "") << "it is not entered";
  EXPECT_EQ(closed(tree_ / "none.py"), tree_) << "whether the file is there or not";
}

TEST_F(ClosedFolder, OwnerAndGroupHaveModesOfTheirOwn) {
  set_mode(home_, 0700);
  EXPECT_EQ(closed(tree_ / "worker.py", ::geteuid(), {}), "");
  struct stat found = {};
  ASSERT_EQ(::stat(home_.c_str(), &found), 0);
  EXPECT_EQ(closed(tree_ / "worker.py", kOther, {kOther, found.st_gid}), home_);
  set_mode(home_, 0710);
  EXPECT_EQ(closed(tree_ / "worker.py", kOther, {kOther, found.st_gid}), "");
  EXPECT_EQ(closed(tree_ / "worker.py", kOther, {kOther}), home_);
  set_mode(home_, 0701);
  EXPECT_EQ(closed(tree_ / "worker.py", kOther, {kOther, found.st_gid}), home_)
      << "what all others may, the group may not";
}

TEST_F(ClosedFolder, RootMayEnterEachOne) {
  set_mode(home_, 0);
  EXPECT_EQ(closed(tree_ / "worker.py", 0, {}), "");
  set_mode(home_, 0755);
}

TEST_F(ClosedFolder, LinksAreFollowed) {
  set_mode(home_, 0700);
  fs::create_symlink(tree_ / "worker.py", beside_ / "absolute");
  fs::create_symlink("../home/tree", beside_ / "relative");
  fs::create_symlink("relative", beside_ / "again");
  EXPECT_EQ(closed(beside_ / "absolute"), home_);
  EXPECT_EQ(closed(beside_ / "again" / "worker.py"), home_);
  EXPECT_EQ(closed(beside_ / ".." / "home" / "." / "tree"), home_);
  fs::create_symlink("circle", beside_ / "circle");
  EXPECT_EQ(closed(beside_ / "circle" / "worker.py"), "");
}

}  // namespace
}  // namespace atl::python
