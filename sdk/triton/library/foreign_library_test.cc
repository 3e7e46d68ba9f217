#include "atoll/triton/foreign_library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::triton {
namespace {

const std::string kUnlinked = std::string(ATOLL_FIXTURE_LIBRARIES) + "/libtriton_unlinked.so";

TEST(ForeignLibrary, FindsItsFunctions) {
  ForeignLibrary library = ForeignLibrary::open(kUnlinked).value();
  EXPECT_EQ(library.path(), kUnlinked);
  uint32_t (*size)() = nullptr;
  ASSERT_TRUE(library.require("fixture_size", size).ok());
  EXPECT_EQ(size(), 8u);
  EXPECT_EQ(library.require("fixture_none", size).message(),
            cat("unable to find required entrypoint 'fixture_none' in shared library: ", kUnlinked,
                ": undefined symbol: fixture_none"));
  EXPECT_EQ(size, nullptr);
}

TEST(ForeignLibrary, IsUnmappedWithTheLastWhoHasItOpen) {
  ForeignLibrary one = ForeignLibrary::open(kUnlinked).value();
  ForeignLibrary other = ForeignLibrary::open(kUnlinked).value();
  uint32_t (*size)() = nullptr;
  one.find("fixture_size", size);
  const auto* inside = reinterpret_cast<const void*>(size);
  EXPECT_TRUE(one.close_and_look(inside));
  EXPECT_FALSE(other.close_and_look(inside));
}

TEST(ForeignLibrary, WhatIsNoLibraryIsAnError) {
  test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "text.so").string();
  std::ofstream(path) << "text";
  const Status status = ForeignLibrary::open(path).status();
  EXPECT_TRUE(status.message().starts_with("unable to load shared library: ")) << status.message();
  EXPECT_FALSE(ForeignLibrary::open("/nonexistent/x.so").ok());
}

TEST(ForeignLibrary, IsInTheFirstDirectoryThatHasIt) {
  test::TemporaryDirectory folder;
  const std::string root = folder.path().string();
  const std::vector<std::string> directories = {root + "/one", root + "/two"};
  EXPECT_EQ(find_library_file(directories, "x", "libx.so"), "");
  for (const char* directory : {"two", "one"}) {
    std::filesystem::create_directories(folder.path() / directory / "x");
    std::ofstream(folder.path() / directory / "x" / "libx.so") << "x";
    EXPECT_EQ(find_library_file(directories, "x", "libx.so"), cat(root, "/", directory, "/x/libx.so"));
  }
  EXPECT_EQ(find_library_file(directories, "../one/x", "libx.so"), "");
  EXPECT_EQ(find_library_file(directories, "x", "../x/libx.so"), "");
}

}  // namespace
}  // namespace atl::triton
