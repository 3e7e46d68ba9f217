#include "atoll/runtime/plugin_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace atl::runtime {
namespace {

/// A plugin's file, built beside this test.
const std::string kPlugin = ATOLL_FIXTURE_PLUGIN;

TEST(PluginFoldersTest, WhatAPluginProvidesIsReadFromItsFile) {
  auto ids = provided_interfaces(kPlugin);
  ASSERT_TRUE(ids.ok()) << ids.status().text();
  EXPECT_EQ(*ids, (std::vector<std::string>{"atoll.first/1", "atoll.second/2"}));
  EXPECT_EQ(option_keys(kPlugin), (std::vector<std::string>{"keys_file", "rate", "log_file"}));
  EXPECT_TRUE(option_keys("/proc/self/exe").empty());
  EXPECT_FALSE(provided_interfaces("/proc/self/exe").ok());
  EXPECT_FALSE(provided_interfaces("/nowhere/x.so").ok());
}

TEST(PluginFoldersTest, NamesAndProvidersOfFolders) {
  const std::filesystem::path folder = testing::TempDir() + "/plugin_folders";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "role");
  std::filesystem::copy_file(kPlugin, folder / "role/good.so");
  std::ofstream(folder / "role/empty.so").flush();
  std::ofstream(folder / "role/text.missing").flush();
  const std::vector<std::string> folders = {"/nowhere", folder.string(), folder.string()};
  EXPECT_EQ(plugin_names(folders), (std::vector<std::string>{"role/empty", "role/good"}));
  EXPECT_EQ(plugin_suggestion("role/goods", folders), ", did you mean 'role/good'?");
  EXPECT_EQ(plugin_suggestion("roles/good", folders), ", did you mean 'role/good'?");
  EXPECT_EQ(plugin_suggestion("role/texts", folders), ", did you mean 'role/text'?");
  EXPECT_EQ(plugin_suggestion("role/other", folders), "");
  EXPECT_EQ(plugin_suggestion("good", folders), "");
  EXPECT_EQ(plugin_hint(Code::kNotFound, "role/goods", "", folders), ", did you mean 'role/good'?");
  EXPECT_EQ(plugin_hint(Code::kFailedPrecondition, "role/goods", "", folders), "");
  EXPECT_EQ(plugin_hint(Code::kNotFound, "role/good", "x.so", folders), "");
  const std::string file = "; 'file' is the path of the plugin's shared object";
  EXPECT_EQ(plugin_hint(Code::kNotFound, "role/good", "x.log", folders),
            file + ", did you mean 'keys_file' or 'log_file'?");
  EXPECT_EQ(plugin_hint(Code::kFailedPrecondition, "role/empty", "x.log", folders), file);
  EXPECT_EQ(plugin_hint(Code::kNotFound, "../role/good", "x.log", folders), file);
  EXPECT_EQ(providers_text("atoll.second/2", folders), "role/good");
  EXPECT_EQ(providers_text("atoll.second/1", folders), "");
  std::filesystem::remove_all(folder);
}

TEST(PluginFoldersTest, AFileThatWasCutOrChangedAnywhereDoesNoHarm) {
  std::ifstream file(kPlugin, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string path = testing::TempDir() + "/plugin_folders_broken.so";
  auto read = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    (void)provided_interfaces(path).ok();
    (void)option_keys(path);
  };
  for (size_t size = 0; size < bytes.size(); size += 97) read(bytes.substr(0, size));
  for (size_t at = 0; at < bytes.size(); at += 61) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(~changed[at]);
    read(changed);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace atl::runtime
