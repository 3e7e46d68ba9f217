#include "repositories/common/private_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "repositories/common/filesystem_repository.h"
#include "repositories/common/testing/repository_folder.h"

namespace atl::filesystem {
namespace {

namespace fs = std::filesystem;

size_t entries(const std::string& path) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

TEST(PrivateFolder, GoesWithItsLastHolder) {
  RepositoryFolder disk;
  {
    auto folder = PrivateFolder::create(disk.path());
    ASSERT_TRUE(folder.ok()) << folder.status().text();
    EXPECT_EQ(fs::status((*folder)->path()).permissions(), fs::perms::owner_all);
    auto first = PrivateDirectory::create(*folder, {{"1/model", "x"}});
    auto second = PrivateDirectory::create(*folder, {});
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_TRUE(fs::is_regular_file((*first)->path() + "/1/model"));
    EXPECT_EQ(entries((*folder)->path()), 2u);
    *first = nullptr;
    EXPECT_EQ(entries((*folder)->path()), 1u);
    *folder = nullptr;
    EXPECT_TRUE(fs::exists((*second)->path())) << "a directory holds its folder";
  }
  EXPECT_EQ(entries(disk.path()), 0u);
}

TEST(PrivateFolder, AFailedDirectoryLeavesNothing) {
  RepositoryFolder disk;
  auto folder = PrivateFolder::create(disk.path());
  ASSERT_TRUE(folder.ok());
  EXPECT_FALSE(PrivateDirectory::create(*folder, {{"1/model", "x"}, {"../x", "x"}}).ok());
  EXPECT_EQ(entries((*folder)->path()), 0u);
}

/// No descriptor can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::dup(STDERR_FILENO);
    ::close(lowest_free);
    const rlimit none = {static_cast<rlim_t>(lowest_free), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(PrivateFolder, ADirectoryThatCannotBeRemovedGoesWhenTheNextOneIsMade) {
  RepositoryFolder disk;
  auto folder = PrivateFolder::create(disk.path());
  ASSERT_TRUE(folder.ok());
  auto first = PrivateDirectory::create(*folder, {{"1/model", "x"}});
  ASSERT_TRUE(first.ok());
  const std::string left = (*first)->path();
  {
    const NoDescriptors none;
    *first = nullptr;
  }
  EXPECT_TRUE(fs::exists(left)) << "it could be removed without a descriptor";
  auto second = PrivateDirectory::create(*folder, {});
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(entries((*folder)->path()), 1u);
}

TEST(PrivateFolder, RemovesWhatTheDeadLeftAndNothingElse) {
  RepositoryFolder disk;
  auto alive = PrivateFolder::create(disk.path());
  ASSERT_TRUE(alive.ok());
  disk.file("atoll-files-abcdef/zzz/1/model");
  disk.file("atoll-files-text");
  disk.file("other/model");
  disk.link("atoll-files-link", "other");
  auto next = PrivateFolder::create(disk.path());
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(fs::exists(disk.at("atoll-files-abcdef")));
  EXPECT_TRUE(fs::exists(disk.at("atoll-files-text")));
  EXPECT_TRUE(fs::exists(disk.at("other/model")));
  EXPECT_TRUE((*alive)->exists());
  EXPECT_NE((*alive)->path(), (*next)->path());
}

TEST(PrivateFolder, SaysWhyThereIsNone) {
  RepositoryFolder disk;
  auto folder = PrivateFolder::create(disk.at("missing"));
  EXPECT_EQ(folder.status().code(), Code::kUnavailable);
  EXPECT_NE(folder.status().message().find("No such file or directory"), std::string::npos);
}

class OpenFilesTest : public ::testing::Test {
 protected:
  RepositoryFolder disk_;
  FilesystemRepository repository_{{.paths = {disk_.path()}, .files_directory = disk_.path()}};
};

TEST_F(OpenFilesTest, AreReadAsAModelIs) {
  auto made = repository_.open_files("m", {{"2/model.onnx", "b"}, {"10/model.onnx", "c"}, {"1x/y", ""}});
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(made->model.entry.name, "m");
  EXPECT_EQ(made->model.config_path, "");
  ASSERT_EQ(made->model.versions.size(), 2u);
  EXPECT_EQ(made->model.versions[1].version, 10);
  EXPECT_TRUE(fs::is_regular_file(made->model.versions[0].path + "/model.onnx"));
  EXPECT_EQ(made->model.ignored.size(), 1u);
  std::string path = made->model.entry.path;
  made = not_found("gone");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(OpenFilesTest, TheNameHasToBeOne) {
  for (std::string_view name : {"", "../m", "a/b", ".hidden"}) {
    EXPECT_FALSE(repository_.open_files(name, {{"1/x", ""}}).ok()) << name;
  }
  EXPECT_EQ(repository_.open_files("m", {{"../x", ""}}).status().code(), Code::kInvalidArgument);
}

TEST_F(OpenFilesTest, AFolderThatSomebodyRemovedIsMadeAgain) {
  auto first = repository_.open_files("m", {{"1/x", ""}});
  ASSERT_TRUE(first.ok());
  fs::remove_all(fs::path(first->model.entry.path).parent_path());
  auto second = repository_.open_files("m", {{"1/x", ""}});
  ASSERT_TRUE(second.ok()) << second.status().text();
  EXPECT_TRUE(fs::exists(second->model.versions[0].path));
}

}  // namespace
}  // namespace atl::filesystem
