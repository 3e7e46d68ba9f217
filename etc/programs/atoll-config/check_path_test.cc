#include "check_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::config {
namespace {

class CheckPathTest : public ::testing::Test {
 protected:
  CheckPathTest() {
    file("models/a/config.pbtxt", "backend: 'identity'");
    file("models/b/config.pbtxt", "backend: 3");
    file("models/b/configs/good.pbtxt", "backend: 'identity'");
    file("models/c/1/model.onnx");
    for (const char* name : {"a/1", "b/1"})
      std::filesystem::create_directories(root_.path() / "models" / name);
  }
  std::string at(const std::string& name) const { return (root_.path() / name).string(); }
  void file(const std::string& name, const std::string& text = "") const {
    std::filesystem::create_directories((root_.path() / name).parent_path());
    std::ofstream(root_.path() / name) << text;
  }
  /// "a 0; b 1": models and their errors.
  std::string checked(const std::string& path, const PathOptions& options = {}) const {
    auto reports = check_path(path, options);
    if (!reports.ok()) return reports.status().text();
    std::string out;
    for (const ModelReport& report : *reports) {
      out += cat(out.empty() ? "" : "; ", report.name, " ", count(report, Severity::kError));
    }
    return out;
  }

  test::TemporaryDirectory root_;
};

TEST_F(CheckPathTest, FindsWhatAPathMeans) {
  EXPECT_EQ(checked(at("models")), "a 0; b 1; c 0");
  EXPECT_EQ(checked(at("models") + "/"), "a 0; b 1; c 0");
  EXPECT_EQ(checked(at("models/b")), "b 1");
  EXPECT_EQ(checked(at("models/b/config.pbtxt")), "b 1");
  EXPECT_EQ(checked(at("models/b/configs/good.pbtxt")), "b 1");
  EXPECT_EQ(checked(at("models/c/")), "c 0");
  EXPECT_EQ(checked(at("models"), {.config_name = "good"}), "a 0; b 0; c 0");
  EXPECT_EQ(checked(at("models"), {.strict = true}), "a 0; b 1; c 1");
  std::filesystem::create_directory(at("empty"));
  EXPECT_EQ(checked(at("empty")), "");
}

TEST_F(CheckPathTest, WhatCanNotBeReadIsAFailure) {
  EXPECT_EQ(checked(at("none")), at("none") + ": No such file or directory");
  EXPECT_EQ(checked(at("models/c/1/model.onnx")),
            at("models/c/1/model.onnx") +
                ": expected a model repository, a model's directory or its configuration");
  EXPECT_EQ(
      checked(at("models"), {.config_name = "../x"}),
      "option 'config_name' is '../x', expected the name of a file in a model's folder 'configs', without "
      "'.pbtxt'");
}

TEST_F(CheckPathTest, AModelThatMustNotBeReadIsAProblemOfThatModel) {
  ASSERT_EQ(::mkfifo(at("models/a/1/pipe").c_str(), 0600), 0);
  EXPECT_EQ(checked(at("models")), "a 1; b 1; c 0");
}

}  // namespace
}  // namespace atl::config
