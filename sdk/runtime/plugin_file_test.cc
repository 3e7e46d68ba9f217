#include "atoll/runtime/plugin_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace atl::runtime {
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

TEST_F(PluginFileTest, WhatIsMissingSaysHowToGetIt) {
  std::filesystem::create_directories(folder / "later/role");
  const std::string path = folder.string(), later = path + "/later";
  const auto refusal = [&] {
    std::string text = find_plugin_file("role/x", "", {path, later}).status().text();
    const std::string begin = cat("no file role/x.so in the plugin path (", path, ", ", later, ")");
    EXPECT_EQ(text.substr(0, begin.size()), begin);
    return text.substr(std::min(begin.size(), text.size()));
  };
  EXPECT_EQ(refusal(), "");
  write("later/role/x.missing", "to get it: build role/x.so \t\r\nmore\n");
  EXPECT_EQ(refusal(), "; to get it: build role/x.so");
  write("role/x.missing", " \nnot this\n");
  EXPECT_EQ(refusal(), "; to get it: build role/x.so") << "an empty line says nothing";
  write("role/x.missing", "a\x1b[0m\xff");
  EXPECT_EQ(refusal(), "; a\\x1b[0m\\xff");
  write("role/x.missing", std::string(1000, 'y'));
  EXPECT_EQ(refusal(), "; " + std::string(512, 'y'));
  std::filesystem::remove(folder / "role/x.missing");
  std::filesystem::create_directory(folder / "role/x.missing");
  EXPECT_EQ(refusal(), "; to get it: build role/x.so") << "a folder is no text";
  write("later/role/x.so", "");
  EXPECT_EQ(find_plugin_file("role/x", "", {path, later}).value(), later + "/role/x.so");
}

TEST_F(PluginFileTest, NamesStayInThePluginPath) {
  using std::string_view_literals::operator""sv;
  for (std::string_view use : {""sv, "/etc/x"sv, "../x"sv, "a/../../x"sv, "a/.."sv, "a\0b"sv}) {
    EXPECT_EQ(find_plugin_file(use, "", {folder.string()}).status().code(), Code::kInvalidArgument) << use;
  }
}

}  // namespace
}  // namespace atl::runtime
