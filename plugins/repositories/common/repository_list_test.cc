// Repositories that come and go while the server runs.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "repositories/common/following_repository.h"
#include "repositories/common/testing/repository_folder.h"

namespace atl::filesystem {
namespace {

class RepositoryListTest : public ::testing::Test {
 protected:
  RepositoryListTest() {
    disk_.file("first/a/1/model");
    disk_.file("second/b/1/model");
    disk_.file("second/c/1/model");
  }
  std::string add(const std::string& path, std::vector<NamedDirectory> names = {}) {
    return repository_.paths().add(path, names).text();
  }
  std::string remove(const std::string& path) { return repository_.paths().remove(path).text(); }
  std::vector<std::string> models() {
    std::vector<std::string> names;
    for (const RepositoryEntry& entry : repository_.list().value()) names.push_back(entry.name);
    return names;
  }
  /// The model's directory, or why there is none.
  std::string opened(const std::string& model) {
    auto found = repository_.open(model);
    return found.ok() ? found->entry.path : std::string(code_name(found.status().code()));
  }

  using Names = std::vector<std::string>;
  RepositoryFolder disk_;
  FilesystemRepository repository_{{.paths = {disk_.at("first")}}};
};

TEST_F(RepositoryListTest, ModelsComeAndGoWithTheirRepository) {
  EXPECT_EQ(models(), Names{"a"});
  EXPECT_EQ(add(disk_.at("second")), "OK");
  EXPECT_EQ(models(), (Names{"a", "b", "c"}));
  EXPECT_EQ(opened("b"), disk_.at("second/b"));
  EXPECT_EQ(repository_.stamps("b")->size(), 1u);
  EXPECT_EQ(remove(disk_.at("second/")), "OK");
  EXPECT_EQ(models(), Names{"a"});
  EXPECT_EQ(opened("b"), "NOT_FOUND");
  EXPECT_EQ(remove(disk_.at("first")), "OK") << "those of the start, too";
  EXPECT_EQ(models(), Names{});
}

TEST_F(RepositoryListTest, DirectoriesMayHaveOtherNames) {
  EXPECT_EQ(add(disk_.at("second"), {{"b", "better"}}), "OK");
  EXPECT_EQ(models(), (Names{"a", "better", "c"}));
  EXPECT_EQ(opened("better"), disk_.at("second/b"));
  EXPECT_EQ(repository_.open("better")->entry.name, "better");
  EXPECT_EQ(opened("b"), "NOT_FOUND");
  EXPECT_EQ(opened("c"), disk_.at("second/c"));
}

TEST_F(RepositoryListTest, TwoDirectoriesMayChangeTheirNames) {
  EXPECT_EQ(add(disk_.at("second"), {{"b", "c"}, {"c", "b"}}), "OK");
  EXPECT_EQ(opened("b"), disk_.at("second/c"));
  EXPECT_EQ(opened("c"), disk_.at("second/b"));
}

TEST_F(RepositoryListTest, ADirectoryMayHaveSeveralNames) {
  EXPECT_EQ(add(disk_.at("second"), {{"b", "x"}, {"b", "y"}}), "OK");
  EXPECT_EQ(models(), (Names{"a", "c", "x", "y"}));
  EXPECT_EQ(opened("x"), disk_.at("second/b"));
  EXPECT_EQ(opened("y"), disk_.at("second/b"));
  EXPECT_EQ(opened("b"), "NOT_FOUND");
}

TEST_F(RepositoryListTest, ANameThatIsGivenIsNoOtherDirectorys) {
  EXPECT_EQ(add(disk_.at("second"), {{"b", "c"}}), "OK");
  EXPECT_EQ(models(), (Names{"a", "c"})) << "not that of its own repository";
  EXPECT_EQ(opened("c"), disk_.at("second/b"));
  disk_.file("third/c/1/model");
  EXPECT_EQ(add(disk_.at("third")), "OK");
  EXPECT_EQ(models(), (Names{"a", "c"})) << "nor that of another one";
  EXPECT_EQ(opened("c"), disk_.at("second/b"));
  EXPECT_EQ(remove(disk_.at("second")), "OK");
  EXPECT_EQ(models(), (Names{"a", "c"}));
  EXPECT_EQ(opened("c"), disk_.at("third/c"));
}

TEST_F(RepositoryListTest, WhatCanNotBeRegisteredSaysWhy) {
  const std::string none = disk_.at("none"), file = disk_.at("second/b/1/model");
  for (const std::string& path : {none, file, std::string()}) {
    EXPECT_EQ(add(path), "failed to register '" + path + "', repository not found");
  }
  EXPECT_EQ(add(disk_.at("first/")),
            "model repository '" + disk_.at("first") + "' has already been registered");
  EXPECT_EQ(add(disk_.at("second"), {{"b", "x"}, {"c", "x"}}),
            "failed to register '" + disk_.at("second") + "', there is a conflicting mapping for 'x'");
  EXPECT_EQ(repository_.paths().add(disk_.at("second"), std::vector<NamedDirectory>{{"../b", "x"}}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(add(disk_.at("second"), {{"b", "x"}}), "OK") << "what failed left nothing";
  disk_.directory("third/b");
  EXPECT_EQ(add(disk_.at("third"), {{"b", "x"}}),
            "failed to register 'x', there is a conflicting mapping for 'x'");
  EXPECT_EQ(repository_.paths().add(disk_.at("second"), {}).code(), Code::kAlreadyExists);
  EXPECT_EQ(remove(none), "failed to unregister '" + none + "', repository not found");
  EXPECT_EQ(repository_.paths().remove(none).code(), Code::kInvalidArgument);
}

TEST_F(RepositoryListTest, WithNamespacesAPathHasNoColons) {
  FilesystemRepository repository({.paths = {disk_.at("first")}, .namespacing = true});
  disk_.directory("x::y");
  EXPECT_EQ(repository.paths().add(disk_.at("x::y"), {}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(repository.paths().add(disk_.at("second"), std::vector<NamedDirectory>{{"b", "a"}}).ok());
  EXPECT_EQ(repository.open(disk_.at("second") + "::a")->entry.path, disk_.at("second/b"));
}

/// Other settings while it runs: what was added and removed meanwhile stays so.
class FollowingRepositoryTest : public RepositoryListTest {
 protected:
  FollowingRepositoryTest() { disk_.file("third/d/1/model"); }
  Names models_of(FollowingRepository& repository) {
    Names names;
    for (const RepositoryEntry& entry : repository.list().value()) names.push_back(entry.name);
    return names;
  }
};

TEST_F(FollowingRepositoryTest, PathsOfTheSettingsComeAndGo) {
  FollowingRepository repository({.paths = {disk_.at("first")}});
  repository.follow({.paths = {disk_.at("first"), disk_.at("second/")}});
  EXPECT_EQ(models_of(repository), (Names{"a", "b", "c"}));
  EXPECT_EQ(repository.paths(), (Names{disk_.at("first"), disk_.at("second")}));
  repository.follow({.paths = {disk_.at("second")}});
  EXPECT_EQ(models_of(repository), (Names{"b", "c"}));
}

TEST_F(FollowingRepositoryTest, WhatCallsHaveChangedStays) {
  FollowingRepository repository({.paths = {disk_.at("first"), disk_.at("third")}});
  ASSERT_TRUE(repository.add(disk_.at("second"), {}).ok());
  ASSERT_TRUE(repository.remove(disk_.at("third")).ok());
  repository.follow({.paths = {disk_.at("first"), disk_.at("third")}, .files_max = 7});
  EXPECT_EQ(models_of(repository), (Names{"a", "b", "c"}));
}

TEST_F(FollowingRepositoryTest, OneThatHasBeenThereAndIsGoneStillCounts) {
  FollowingRepository repository({.paths = {disk_.at("second")}, .allow_missing_paths = true});
  EXPECT_EQ(models_of(repository), (Names{"b", "c"}));
  std::filesystem::remove_all(disk_.at("second"));
  repository.follow({.paths = {disk_.at("second")}, .allow_missing_paths = true, .files_max = 7});
  EXPECT_FALSE(repository.list().ok()) << "else its models would look deleted";
}

TEST_F(FollowingRepositoryTest, FilesThatClientsBroughtOutliveTheSettings) {
  FollowingRepository repository({.paths = {disk_.at("first")}, .files_directory = disk_.at("first")});
  auto made = repository.open_files("brought", {{"1/model", "x"}});
  ASSERT_TRUE(made.ok());
  repository.follow({.paths = {disk_.at("first")}});
  EXPECT_TRUE(std::filesystem::exists(made->model.versions.at(0).path + "/model"));
}

}  // namespace
}  // namespace atl::filesystem
