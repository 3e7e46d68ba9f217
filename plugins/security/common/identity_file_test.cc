#include "security/common/identity_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "atoll/core/text.h"

namespace atl::security {
namespace {

using testing::HasSubstr;

class IdentityFileTest : public testing::Test {
 protected:
  IdentityFileTest() { std::ofstream(path) << "text\n"; }
  ~IdentityFileTest() override { std::filesystem::remove(path); }
  std::string read(bool is_private = false, int64_t most_bytes = 5) const {
    Result<std::string> text = read_identity_file({path, "file of keys", most_bytes, is_private});
    return text.ok() ? *text : std::string(text.status().message());
  }
  const std::string path = cat(testing::TempDir(), "identity_file_test_", ::getpid());
};

TEST_F(IdentityFileTest, IsReadAsAWhole) { EXPECT_EQ(read(), "text\n"); }

TEST_F(IdentityFileTest, APrivateOneIsNotOpenToAll) {
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(read(), "text\n");
  EXPECT_THAT(read(true), HasSubstr("open to all users"));
  ::chmod(path.c_str(), 0640);
  EXPECT_EQ(read(true), "text\n");
  ::chmod(path.c_str(), 0660);
  EXPECT_THAT(read(true), HasSubstr("may be written by its group"));
  EXPECT_EQ(read(), "text\n");
}

TEST_F(IdentityFileTest, WhatIsNoSuchFileIsNamed) {
  EXPECT_THAT(read(false, 4), HasSubstr("has 5 bytes, expected at most 4"));
  std::filesystem::remove(path);
  EXPECT_THAT(read(), HasSubstr("cannot be read: No such file"));
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(read(), HasSubstr("is no file of keys")) << "and nobody waits for a writer";
}

}  // namespace
}  // namespace atl::security
