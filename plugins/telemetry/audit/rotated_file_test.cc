#include "telemetry/audit/rotated_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::audit {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

/// Files of this process may have so many bytes; what is more cannot be written, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

class RotatedFileTest : public ::testing::Test {
 protected:
  /// All of the lines or, on failure, none.
  static Status append(RotatedFile& file, std::string_view lines) {
    uint64_t written = 99;
    Status status = file.append(lines, &written);
    EXPECT_EQ(written, status.ok() ? static_cast<uint64_t>(std::ranges::count(lines, '\n')) : 0);
    return status;
  }

  test::TemporaryDirectory folder_;
  const std::string path_ = (folder_.path() / "audit.log").string();
};

TEST_F(RotatedFileTest, GoesOnWithWhatIsThereAndIsItsOwnersAlone) {
  std::ofstream(path_) << "before\n";
  std::filesystem::permissions(path_, std::filesystem::perms(0644));
  RotatedFile file(path_, 0, 5);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(append(file, "one\n").ok());
  EXPECT_EQ(content(path_), "before\none\n");
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(RotatedFileTest, KeepsAsManyOldFilesAsItIsTold) {
  RotatedFile file(path_, 10, 2);
  ASSERT_TRUE(file.open().ok());
  for (const char* line : {"aaaaaaa\n", "bb\n", "ccccccc\n", "ddddddddddddd\n", "e\n"})
    ASSERT_TRUE(append(file, line).ok());
  EXPECT_EQ(content(path_), "e\n");
  EXPECT_EQ(content(path_ + ".1"), "ddddddddddddd\n")
      << "a line that is larger than a file may be stands alone";
  EXPECT_EQ(content(path_ + ".2"), "ccccccc\n");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".3"));
  EXPECT_EQ(mode_of(path_ + ".1"), 0600u);
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(RotatedFileTest, ManyLinesAtOnceAreInFilesOfTheirSize) {
  RotatedFile file(path_, 10, 9);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(append(file, "aaa\n").ok());
  ASSERT_TRUE(append(file, "bbb\nc\ndddddddddddddd\neee\nffff\ng\n").ok());
  EXPECT_EQ(content(path_ + ".3"), "aaa\nbbb\nc\n") << "full to the byte";
  EXPECT_EQ(content(path_ + ".2"), "dddddddddddddd\n");
  EXPECT_EQ(content(path_ + ".1"), "eee\nffff\n");
  EXPECT_EQ(content(path_), "g\n");
}

TEST_F(RotatedFileTest, OfManyLinesThoseThatWereWrittenAreCounted) {
  RotatedFile file(path_, 10, 0);
  ASSERT_TRUE(file.open().ok());
  uint64_t written = 0;
  {
    const FullDisk full(12);
    EXPECT_FALSE(file.append("aaa\nbbb\ncccccccccccccc\nd\n", &written).ok());
  }
  EXPECT_EQ(written, 2u) << "they were in the file before this one";
  EXPECT_EQ(content(path_), "");
}

TEST_F(RotatedFileTest, KeepsNoneIfItIsToldSo) {
  RotatedFile file(path_, 4, 0);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(append(file, "aaa\n").ok());
  ASSERT_TRUE(append(file, "b\n").ok());
  EXPECT_EQ(content(path_), "b\n");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".1"));
}

TEST_F(RotatedFileTest, AFileThatWasMovedIsMadeAnew) {
  RotatedFile file(path_, 0, 5);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(append(file, "one\n").ok());
  std::filesystem::rename(path_, path_ + ".moved");
  ASSERT_TRUE(append(file, "two\n").ok());
  EXPECT_EQ(content(path_ + ".moved"), "one\n");
  EXPECT_EQ(content(path_), "two\n");
  std::filesystem::remove(path_);
  ASSERT_TRUE(append(file, "three\n").ok());
  EXPECT_EQ(content(path_), "three\n");
}

TEST_F(RotatedFileTest, WhatIsNoPlainFileIsRefused) {
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(RotatedFile(path_, 0, 5).open().ok());
  const std::string link = path_ + ".link";
  std::ofstream(path_ + ".target") << "x";
  std::filesystem::create_symlink(path_ + ".target", link);
  EXPECT_FALSE(RotatedFile(link, 0, 5).open().ok()) << "who can write the folder could lead it anywhere";
  ASSERT_EQ(::mkfifo((path_ + ".pipe").c_str(), 0600), 0);
  EXPECT_FALSE(RotatedFile(path_ + ".pipe", 0, 5).open().ok());
  EXPECT_FALSE(RotatedFile(path_ + "/no/such/folder", 0, 5).open().ok());
}

TEST_F(RotatedFileTest, OnAFullDiskNoHalfLineIsLeft) {
  RotatedFile file(path_, 0, 5);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(append(file, "first\n").ok());
  {
    const FullDisk full(10);
    const Status failed = append(file, "second\n");
    ASSERT_FALSE(failed.ok());
    EXPECT_NE(failed.message().find(path_), std::string_view::npos);
  }
  EXPECT_EQ(content(path_), "first\n");
  ASSERT_TRUE(append(file, "third\n").ok());
  EXPECT_EQ(content(path_), "first\nthird\n");
}

}  // namespace
}  // namespace atl::audit
