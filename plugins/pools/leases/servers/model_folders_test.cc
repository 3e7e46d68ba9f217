#include "pools/leases/servers/model_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::pools {
namespace {

namespace fs = std::filesystem;

class ModelFoldersTest : public ::testing::Test {
 protected:
  ModelFoldersTest() {
    fs::create_directories(root_ / "models" / "digits" / "1");
    fs::create_directories(root_ / "secret" / "digits");
    fs::create_directory_symlink(root_ / "models", root_ / "alias");
    EXPECT_TRUE(folders_.make(server_).ok());
  }
  Status put(const fs::path& source, const std::string& name = "digits") {
    return folders_.put(server_, {name, source});
  }
  test::TemporaryDirectory directory_;
  const fs::path root_ = directory_.path();
  ModelFolders folders_{root_ / "servers", {root_ / "alias"}};
  const std::string server_ = root_ / "servers" / "a";
};

TEST_F(ModelFoldersTest, AModelIsALinkToItsFiles) {
  ASSERT_TRUE(put(root_ / "models").ok());
  EXPECT_EQ(fs::read_symlink(server_ + "/digits"), root_ / "models" / "digits");
  fs::create_directories(root_ / "models" / "team" / "digits");
  ASSERT_TRUE(put(root_ / "alias" / "team").ok());
  EXPECT_EQ(fs::read_symlink(server_ + "/digits"), root_ / "models" / "team" / "digits");
  folders_.take_off(server_, "digits");
  EXPECT_TRUE(fs::is_empty(server_));
  EXPECT_TRUE(fs::exists(root_ / "models" / "digits" / "1"));
}

TEST_F(ModelFoldersTest, WhatIsNotThereIsNamed) {
  const Status missing = put(root_ / "models", "other");
  EXPECT_EQ(missing.code(), Code::kFailedPrecondition);
  EXPECT_EQ(missing.message(), cat("source '", (root_ / "models").native(), "' has no model 'other'"));
  std::ofstream(root_ / "models" / "file") << "x";
  EXPECT_EQ(put(root_ / "models", "file").code(), Code::kFailedPrecondition);
  EXPECT_EQ(put("/nowhere").code(), Code::kFailedPrecondition);
}

TEST_F(ModelFoldersTest, NoLinkLeadsOutOfTheSources) {
  fs::create_directory_symlink(root_ / "secret" / "digits", root_ / "models" / "out");
  EXPECT_EQ(put(root_ / "models", "out").code(), Code::kFailedPrecondition);
  EXPECT_EQ(put(root_ / "secret").code(), Code::kFailedPrecondition);
  EXPECT_TRUE(fs::is_empty(server_));
  fs::create_directory_symlink("loop", root_ / "models" / "loop");
  EXPECT_EQ(put(root_ / "models", "loop").code(), Code::kFailedPrecondition);
}

TEST_F(ModelFoldersTest, AServersFolderGoesAndItsModelsStay) {
  ASSERT_TRUE(put(root_ / "models").ok());
  folders_.remove(server_);
  EXPECT_FALSE(fs::exists(server_));
  EXPECT_TRUE(fs::exists(root_ / "models" / "digits" / "1"));
  EXPECT_EQ(put(root_ / "models").code(), Code::kUnavailable);
  folders_.remove("");
}

}  // namespace
}  // namespace atl::pools
