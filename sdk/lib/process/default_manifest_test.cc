#include "atoll/lib/default_manifest.h"

#include <gtest/gtest.h>

#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::lib {
namespace {

TEST(DefaultManifest, OneBesideThatOfTheAdministratorComesFirst) {
  const test::TemporaryDirectory root;
  EXPECT_EQ(default_manifest(root.path()), root.path() / "etc/atoll/atoll.toml");
  std::filesystem::create_directories(root.path() / "share/atoll/atoll.toml");
  EXPECT_EQ(default_manifest(root.path()), root.path() / "etc/atoll/atoll.toml") << "a folder is no manifest";
  std::filesystem::remove(root.path() / "share/atoll/atoll.toml");
  std::ofstream(root.path() / "share/atoll/atoll.toml") << "[atoll]\n";
  EXPECT_EQ(default_manifest(root.path()), root.path() / "share/atoll/atoll.toml");
}

}  // namespace
}  // namespace atl::lib
