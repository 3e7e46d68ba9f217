#include "frontends/static_files/file_set.h"

#include <gtest/gtest.h>

#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::frontends::static_files {
namespace {

class FileSetTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  Result<FileSet> read(uint64_t limit_bytes = 1 << 20) {
    return FileSet::read({{"/a/", folder_.path()}}, limit_bytes);
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(FileSetTest, EachFileIsUnderItsPath) {
  write("index.html", "front");
  write("deep/er/index.html", "back");
  write("deep/code.js", std::string("a\0b", 3));
  write("unknown.kind", "");
  Result<FileSet> files = read();
  ASSERT_TRUE(files.ok()) << files.status().text();
  EXPECT_EQ(files->size(), 4u);
  EXPECT_EQ(files->find("/a/")->content, "front");
  EXPECT_EQ(files->find("/a/index.html")->content_type, "text/html; charset=utf-8");
  EXPECT_EQ(files->find("/a/deep/er/")->content, "back");
  EXPECT_EQ(files->find("/a/deep/code.js")->content, std::string("a\0b", 3));
  EXPECT_EQ(files->find("/a/unknown.kind")->content_type, "application/octet-stream");
  for (const char* missing : {"", "/", "/a", "/a/deep", "/a/deep/", "/a/../a/index.html", "/b/index.html"})
    EXPECT_EQ(files->find(missing), nullptr) << missing;
}

TEST_F(FileSetTest, ATagIsThatOfTheContent) {
  write("one", "same");
  write("two", "same");
  write("three", "other");
  Result<FileSet> files = read();
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->find("/a/one")->entity_tag, files->find("/a/two")->entity_tag);
  EXPECT_NE(files->find("/a/one")->entity_tag, files->find("/a/three")->entity_tag);
  EXPECT_TRUE(files->find("/a/one")->entity_tag.starts_with('"'));
}

TEST_F(FileSetTest, HiddenFilesAndLinksStayWhereTheyAre) {
  write(".secret", "x");
  write(".git/config", "x");
  write("seen", "x");
  std::filesystem::create_symlink("/etc/passwd", folder_.path() / "link");
  std::filesystem::create_directory_symlink("/etc", folder_.path() / "folder");
  Result<FileSet> files = read();
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->size(), 1u);
}

TEST_F(FileSetTest, WhatIsTooMuchIsRefused) {
  write("half", std::string(50, 'x'));
  write("other", std::string(50, 'y'));
  EXPECT_TRUE(read(100).ok());
  Result<FileSet> files = read(99);
  EXPECT_EQ(files.status().code(), Code::kResourceExhausted);
  EXPECT_NE(files.status().message().find("99 bytes (option max_size)"), std::string::npos)
      << files.status().text();
}

TEST_F(FileSetTest, WrongPathsAndFoldersAreRefused) {
  for (const char* path : {"", "/", "a/", "/a", "a"})
    EXPECT_EQ(FileSet::read({{path, folder_.path()}}, 1).status().code(), Code::kInvalidArgument) << path;
  const Status missing = FileSet::read({{"/a/", "/not/there"}}, 1).status().clone();
  EXPECT_EQ(missing.message(),
            "found '/not/there', expected a folder that can be read: No such file or directory");
}

}  // namespace
}  // namespace atl::frontends::static_files
