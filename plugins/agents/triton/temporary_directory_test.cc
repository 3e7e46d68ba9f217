#include "agents/triton/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "atoll/testing/temporary_directory.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryDirectory, IsTheOwnersAndGoesWithWhatIsInIt) {
  test::TemporaryDirectory disk;
  std::string path;
  {
    auto made = TemporaryDirectory::create(disk.path());
    ASSERT_TRUE(made.ok()) << made.status().text();
    path = made->path();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    fs::create_directories(path + "/1");
    std::ofstream(path + "/1/model") << "x";
    fs::create_directory_symlink("/", path + "/root");
    TemporaryDirectory moved = std::move(made).value();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryDirectory, IsRemovedOnce) {
  test::TemporaryDirectory disk;
  auto made = TemporaryDirectory::create(disk.path());
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->remove().ok());
  EXPECT_EQ(made->path(), "");
  EXPECT_TRUE(made->remove().ok());
  EXPECT_TRUE(fs::is_empty(disk.path()));
}

TEST(TemporaryDirectory, WhereNoneCanBeMadeTheReasonIsTold) {
  auto made = TemporaryDirectory::create("/proc/none");
  EXPECT_EQ(made.status().code(), Code::kUnavailable);
  EXPECT_TRUE(made.status().text().starts_with("/proc/none/atoll-agent-")) << made.status().text();
}

}  // namespace
}  // namespace atl::triton
