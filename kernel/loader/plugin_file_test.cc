#include "kernel/loader/plugin_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace atl::kernel {
namespace {

class PluginFileTest : public testing::Test {
 protected:
  PluginFileTest() { std::filesystem::create_directories(folder / "role"); }
  ~PluginFileTest() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
  std::filesystem::path folder = testing::TempDir() + "plugin_file_test_" + std::to_string(::getpid());
};

TEST_F(PluginFileTest, TheFirstFolderThatHasItWins) {
  write("role/x.so", "");
  std::string path = folder.string();
  EXPECT_EQ(find_plugin_file("role/x", "", {"/nowhere", path}).value(), path + "/role/x.so");
  EXPECT_EQ(find_plugin_file("role/x", "/some/file", {path}).value(), "/some/file");
  EXPECT_EQ(find_plugin_file("role/y", "", {"/a", "/b"}).status().text(),
            "no file role/y.so in the plugin path (/a, /b)");
  EXPECT_EQ(find_plugin_file("role/y", "", {}).status().text(),
            "no file role/y.so in the plugin path (which is empty)");
}

TEST_F(PluginFileTest, NamesStayInThePluginPath) {
  using std::string_view_literals::operator""sv;
  for (std::string_view use : {""sv, "/etc/x"sv, "../x"sv, "a/../../x"sv, "a/.."sv, "a\0b"sv}) {
    EXPECT_EQ(find_plugin_file(use, "", {folder.string()}).status().code(), Code::kInvalidArgument) << use;
  }
}

}  // namespace
}  // namespace atl::kernel
