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

class CheckEnsemblesTest : public CheckPathTest {
 protected:
  CheckEnsemblesTest() { std::filesystem::remove_all(root_.path() / "models"); }
  void model(const std::string& name, const std::string& config) const {
    file("models/" + name + "/config.pbtxt", config);
    std::filesystem::create_directories(root_.path() / "models" / name / "1");
  }
  /// A model with these tensors, each "NAME TYPE DIM".
  void member(const std::string& name, const std::string& input, const std::string& output) const {
    model(name, "backend: 'identity' " + tensor("input", input) + tensor("output", output));
  }
  static std::string tensor(const std::string& field, const std::string& text) {
    const size_t first = text.find(' '), second = text.rfind(' ');
    return cat(field, " { name: '", text.substr(0, first), "' data_type: TYPE_",
               text.substr(first + 1, second - first - 1), " dims: ", text.substr(second + 1), " }\n");
  }
  static std::string step(const std::string& model, const std::string& input, const std::string& fed_by,
                          const std::string& output, const std::string& fed) {
    return cat("step { model_name: '", model, "' model_version: -1 input_map { key: '", input, "' value: '",
               fed_by, "' } output_map { key: '", output, "' value: '", fed, "' } }\n");
  }
  void ensemble(const std::string& name, const std::string& steps) const {
    model(name, "platform: 'ensemble'\n" + tensor("input", "IN FP32 4") + tensor("output", "OUT FP32 4") +
                    "ensemble_scheduling {\n" + steps + "}");
  }
  /// What is wrong, as "LINE: TEXT", under the path.
  std::string problems(const std::string& path = "models") const {
    auto reports = check_path(at(path), {});
    if (!reports.ok()) return reports.status().text();
    std::string out;
    for (const ModelReport& report : *reports) {
      for (const Problem& problem : report.problems)
        out += cat(out.empty() ? "" : "\n", problem.line, ": ", problem.text);
    }
    return out;
  }
};

TEST_F(CheckEnsemblesTest, MapsNameTensorsThatMembersHave) {
  member("a", "INPUT0 FP32 4", "OUTPUT0 FP32 4");
  ensemble("e", step("a", "INPUT0", "IN", "OUTPUT0", "OUT"));
  EXPECT_EQ(problems(), "");
  ensemble("e", step("a", "INPUT", "IN", "OUTPUT1", "OUT"));
  EXPECT_EQ(
      problems(),
      "5: in ensemble e, ensemble tensor IN is mapping to non-existing input INPUT in model a, did you "
      "mean 'INPUT0'?\n"
      "5: in ensemble e, input INPUT0 in model a is not mapped to any ensemble tensors\n"
      "5: in ensemble e, ensemble tensor OUT is mapped from non-existing output OUTPUT1 in model a, did "
      "you mean 'OUTPUT0'?");
  EXPECT_EQ(problems("models/e").substr(0, 20), "5: in ensemble e, en") << "its steps are looked up";
}

TEST_F(CheckEnsemblesTest, TypesAndShapesGoTogether) {
  member("a", "I FP32 4", "O INT32 4");
  member("b", "I FP32 3", "O FP32 -1");
  ensemble("e", step("a", "I", "IN", "O", "t") + step("b", "I", "t", "O", "OUT"));
  EXPECT_EQ(
      problems(),
      "6: in ensemble e, ensemble tensor t: inconsistent data type: TYPE_INT32 is inferred from model a "
      "while TYPE_FP32 is inferred from model b");
  member("a", "I FP32 4", "O FP32 4");
  EXPECT_EQ(problems(),
            "6: in ensemble e, ensemble tensor t: inconsistent shape: [4] is inferred from model a while [3] "
            "is inferred from model b");
  member("b", "I FP32 -1", "O FP32 -1");
  EXPECT_EQ(problems(), "");
}

TEST_F(CheckEnsemblesTest, WhatABackendMayCompleteIsNotMissing) {
  model("a", "backend: 'onnxruntime'");
  ensemble("e", step("a", "I", "IN", "O", "OUT"));
  EXPECT_EQ(problems().find("non-existing"), std::string::npos) << problems();
  model("p", "backend: 'python'" + tensor("input", "CARGO FP32 4") + tensor("output", "TONNES FP32 4"));
  std::ofstream(at("models/p/1/model.py")) << "";
  ensemble("e", step("p", "CARG", "IN", "TONES", "OUT"));
  EXPECT_EQ(
      problems("models/e"),
      "5: in ensemble e, the configuration of model p has no input CARG, did you mean 'CARGO'? Its backend "
      "would have to add it\n"
      "5: in ensemble e, input CARGO in model p is not mapped to any ensemble tensors\n"
      "5: in ensemble e, the configuration of model p has no output TONES, did you mean 'TONNES'? Its backend "
      "would have to add it");
}

TEST_F(CheckEnsemblesTest, VersionsOfMembersAreServed) {
  member("a", "I FP32 4", "O FP32 4");
  std::string text = step("a", "I", "IN", "O", "OUT");
  ensemble("e", text.replace(text.find("-1"), 2, "1"));
  EXPECT_EQ(problems(), "");
  text.replace(text.find("model_version: 1"), 16, "model_version: 9");
  ensemble("e", text);
  EXPECT_EQ(problems(), "5: in ensemble e, version 9 of model a is not served; served: 1");
}

TEST_F(CheckEnsemblesTest, EnsemblesAreNotInEachOther) {
  for (const char* pair : {"ab", "bc", "ca"})
    ensemble(std::string(1, pair[0]), step(std::string(1, pair[1]), "IN", "IN", "OUT", "OUT"));
  ensemble("d", step("a", "IN", "IN", "OUT", "OUT"));
  EXPECT_EQ(problems(),
            "4: circular dependency between ensembles: a -> b -> c -> a\n"
            "4: circular dependency between ensembles: b -> c -> a -> b\n"
            "4: circular dependency between ensembles: c -> a -> b -> c");
}

TEST_F(CheckEnsemblesTest, UnknownModelsAndBackendsHaveNearNames) {
  member("tokenizer", "I FP32 4", "O FP32 4");
  ensemble("e", step("tokeniser", "I", "IN", "O", "OUT"));
  model("saved",
        "platform: 'tensorflow_savedmodel' " + tensor("input", "I FP32 1") + tensor("output", "O FP32 1"));
  std::filesystem::create_directories(at("models/saved/1/model.savedmodel"));
  model("x", "backend: 'onnxruntme' " + tensor("input", "I FP32 1") + tensor("output", "O FP32 1"));
  EXPECT_EQ(
      problems(),
      "5: model 'tokeniser' is not in the repository, did you mean 'tokenizer'?\n"
      "1: 'onnxruntme' is none of Atoll's backends (cuda, identity, llamacpp, onnxruntime, openvino, python, "
      "pytorch, repeat, tensorflow); a server has it only as an instance of that name, or by backends/triton or "
      "backends/python, did you mean 'onnxruntime'?");
}

}  // namespace
}  // namespace atl::config
