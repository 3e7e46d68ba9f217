#include "frontends/sagemaker/model_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::frontends::sagemaker {
namespace {

namespace fs = std::filesystem;

class ModelFolderTest : public testing::Test {
 protected:
  /// A folder below the root, with a configuration unless that is empty.
  fs::path add(const std::string& path, const std::string& config = "") {
    const fs::path folder = root() / path;
    fs::create_directories(folder);
    if (!config.empty()) std::ofstream(folder / "config.pbtxt") << config;
    return folder;
  }
  fs::path root() const { return fs::path(folder_.path()) / "models"; }
  std::string failure(const fs::path& url) const {
    return std::string(find_model_folder(url.string(), root()).status().message());
  }

  test::TemporaryDirectory folder_;
};

TEST_F(ModelFolderTest, TheFolderItselfIsTheModelIfItHasAConfiguration) {
  const fs::path url = add("hash/model", "backend: 'identity'");
  add("hash/model/1");
  Result<ModelFolder> found = find_model_folder(url.string() + "/", root());
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(found->repository, url.parent_path());
  EXPECT_EQ(found->directory, "model");
}

TEST_F(ModelFolderTest, ElseTheOnlyFolderOrTheOnlyEnsemble) {
  const fs::path url = add("hash/model");
  EXPECT_EQ(failure(url), "url '" + url.string() + "' has neither a config.pbtxt nor a folder with a model");
  add("hash/model/bert");
  Result<ModelFolder> found = find_model_folder(url.string(), root());
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(found->repository, url);
  EXPECT_EQ(found->directory, "bert");
  add("hash/model/tokens", "backend: 'python'");
  EXPECT_EQ(failure(url),
            "url '" + url.string() +
                "' has 2 folders, of which 0 are ensembles, expected one folder or one ensemble");
  add("hash/model/whole", "platform: \"ensemble\"");
  EXPECT_EQ(find_model_folder(url.string(), root())->directory, "whole");
  add("hash/model/whole2", "ensemble_scheduling { }");
  EXPECT_NE(failure(url).find("has 4 folders, of which 2 are ensembles"), std::string::npos);
}

TEST_F(ModelFolderTest, NothingOutsideTheRootIsOpened) {
  add("hash");
  const fs::path outside = fs::path(folder_.path()) / "outside";
  fs::create_directories(outside / "m");
  fs::create_directory_symlink(outside, root() / "link");
  const fs::path sibling = fs::path(folder_.path()) / "models2" / "m";
  fs::create_directories(sibling);
  for (const fs::path& url :
       {outside, root() / "link", root() / "hash/../../outside", sibling, root(), fs::path("/proc/self")}) {
    EXPECT_NE(failure(url).find("does not lie below"), std::string::npos) << url;
  }
  EXPECT_NE(failure(root() / "none").find("No such file"), std::string::npos);
  std::ofstream(root() / "file") << "x";
  EXPECT_NE(failure(root() / "file").find("is no folder"), std::string::npos);
  EXPECT_NE(std::string(find_model_folder(root().string(), outside / "none").status().message())
                .find("models_directory"),
            std::string::npos);
}

}  // namespace
}  // namespace atl::frontends::sagemaker
