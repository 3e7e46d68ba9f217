#include "backends/python/process/packed_environments.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

class PackedEnvironmentsTest : public ::testing::Test {
 protected:
  /// An archive with bin/python3 that says the text.
  std::string pack(const std::string& text) {
    fs::create_directories(path_ + "/env/bin");
    std::ofstream(path_ + "/env/bin/python3") << text;
    const std::string archive = path_ + "/env.tar.gz";
    EXPECT_EQ(std::system(cat("tar -czf ", archive, " -C ", path_, "/env .").c_str()), 0);
    return archive;
  }
  static std::string content(const std::string& folder) {
    std::ifstream file(folder + "/bin/python3");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.path();
};

TEST_F(PackedEnvironmentsTest, AnArchiveIsUnpackedOnceUntilItChanges) {
  std::string first, second;
  {
    PackedEnvironments environments;
    first = environments.unpack(pack("one")).value();
    EXPECT_EQ(content(first), "one");
    EXPECT_EQ(environments.unpack(path_ + "/env.tar.gz").value(), first);
    second = environments.unpack(pack("another")).value();
    EXPECT_NE(second, first);
    EXPECT_EQ(content(second), "another");
    EXPECT_EQ(content(first), "one") << "who uses the old one goes on";
  }
  EXPECT_FALSE(fs::exists(first) || fs::exists(second));
}

TEST_F(PackedEnvironmentsTest, NothingLeavesTheFolder) {
  fs::create_directories(path_ + "/a");
  std::ofstream(path_ + "/outside") << "x";
  ASSERT_EQ(std::system(cat("cd ", path_, "/a && tar -P -cf ../bad.tar ../outside 2>&1").c_str()), 0);
  fs::remove(path_ + "/outside");
  PackedEnvironments environments;
  (void)environments.unpack(path_ + "/bad.tar").ok();
  EXPECT_FALSE(fs::exists(fs::temp_directory_path() / "outside"));
  EXPECT_FALSE(fs::exists(path_ + "/outside"));
}

TEST_F(PackedEnvironmentsTest, WhatIsNoArchiveIsRefused) {
  PackedEnvironments environments;
  EXPECT_EQ(environments.unpack(path_ + "/no.tar.gz").status().code(), Code::kNotFound);
  std::ofstream(path_ + "/bad.tar.gz") << "this is none";
  EXPECT_EQ(environments.unpack(path_ + "/bad.tar.gz").status().text(),
            cat(path_, "/bad.tar.gz cannot be unpacked: tar has failed"));
  EXPECT_TRUE(PackedEnvironments::is_packed("a.tar.gz") && PackedEnvironments::is_packed("a.tgz"));
  EXPECT_FALSE(PackedEnvironments::is_packed("/opt/env"));
}

}  // namespace
}  // namespace atl::python
