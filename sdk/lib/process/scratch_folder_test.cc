#include "atoll/lib/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "atoll/testing/temporary_directory.h"

namespace atl {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsTheOwnersAndGoesWithWhatIsInIt) {
  test::TemporaryDirectory disk;
  std::string path;
  {
    auto made = ScratchFolder::make("test", disk.path());
    ASSERT_TRUE(made.ok()) << made.status().text();
    path = made->path();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    fs::create_directories(path + "/1");
    std::ofstream(path + "/1/model") << "x";
    fs::create_directory_symlink("/", path + "/root");
    ScratchFolder moved = std::move(made).value();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, IsRemovedOnce) {
  test::TemporaryDirectory disk;
  auto made = ScratchFolder::make("test", disk.path());
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->remove().ok());
  EXPECT_EQ(made->path(), "");
  EXPECT_TRUE(made->remove().ok());
  EXPECT_TRUE(fs::is_empty(disk.path()));
}

TEST(ScratchFolder, WhereNoneCanBeMadeTheReasonIsTold) {
  auto made = ScratchFolder::make("test", "/proc/none");
  EXPECT_EQ(made.status().code(), Code::kUnavailable);
  EXPECT_TRUE(made.status().text().starts_with("/proc/none/test-")) << made.status().text();
}

}  // namespace
}  // namespace atl
