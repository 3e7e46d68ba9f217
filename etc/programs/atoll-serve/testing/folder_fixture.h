/// A folder for a test, and files in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace atl::serve {

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::filesystem::create_directories(folder);
    folder = std::filesystem::canonical(folder);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }
  std::filesystem::path write(const std::filesystem::path& name, const std::string& text = "x") const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  std::filesystem::path folder = testing::TempDir() + "atoll_serve_test_" + std::to_string(::getpid());
};

}  // namespace atl::serve
