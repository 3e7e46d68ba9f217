#include "backends/cuda/code/version_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cuda/testing/version_folder.h"

namespace atl::cuda_backend {
namespace {

TEST(VersionFiles, StayInside) {
  for (const char* name : {"w", "a/b", "..w", "a..b/w", "./w"}) EXPECT_TRUE(stays_inside(name)) << name;
  for (const char* name : {"", "/w", "..", "../w", "a/../../w", "a/.."})
    EXPECT_FALSE(stays_inside(name)) << name;
  EXPECT_FALSE(stays_inside(std::string_view("a\0b", 3)));
}

TEST(VersionFiles, AreReadWhole) {
  test::VersionFolder folder;
  const std::string bytes(
      "12\0"
      "45\n",
      6);
  folder.write("sub/w", bytes);
  EXPECT_EQ(find_version_file(folder.path(), "sub/w").value().size_bytes, 6u);
  EXPECT_EQ(read_version_file(folder.path(), "sub/w", 6).value(), bytes);
  EXPECT_EQ(read_version_file(folder.path(), "sub/w", 5).status().message(),
            "'" + folder.path() + "/sub/w': found 6 bytes, expected at most 5");
}

TEST(VersionFiles, AreRegularFiles) {
  test::VersionFolder folder;
  folder.write("sub/w", "1");
  folder.write("empty", "");
  ASSERT_EQ(mkfifo((folder.path() + "/fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder.path() + "/zero").c_str()), 0);
  for (const char* name : {"sub", "empty", "fifo", "zero", "../w"}) {
    EXPECT_EQ(find_version_file(folder.path(), name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(read_version_file(folder.path(), name, 100).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(read_version_file(folder.path(), "none", 100).status().code(), Code::kNotFound);
  EXPECT_EQ(read_version_file(folder.path(), "sub/w/none", 100).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace atl::cuda_backend
