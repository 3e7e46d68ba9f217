#include "check_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"
#include "report.h"

namespace atl::config {
namespace {

/// A model 'm' with version 1, whose problems are told with its directory as /m.
class CheckModelTest : public ::testing::Test {
 protected:
  CheckModelTest() {
    model_.entry = {"m", root_.path().string(), (root_.path() / "m").string()};
    model_.versions = {{1, model_.entry.path + "/1"}};
    file("1/model.onnx");
  }

  void file(const std::string& name, const std::string& content = "") const {
    std::filesystem::path path = std::filesystem::path(model_.entry.path) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }

  ModelReport report(const std::string& text) {
    model_.config_path = model_.entry.path + "/config.pbtxt";
    model_.config_text = text;
    return check_model(model_, options_);
  }

  /// Lines of all problems.
  std::string lines(const ModelReport& report) const {
    std::string out;
    for (const Problem& problem : report.problems) out += problem_line(problem);
    for (size_t at; (at = out.find(model_.entry.path)) != std::string::npos;) {
      out.replace(at, model_.entry.path.size(), "/m");
    }
    return out;
  }
  std::string lines(const std::string& text) { return lines(report(text)); }

  test::TemporaryDirectory root_;
  RepositoryModel model_;
  CheckOptions options_;
};

constexpr const char* kGood = R"(backend: "identity" max_batch_size: 4
input { name: "INPUT0" data_type: TYPE_FP32 dims: 2 } output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 2 }
)";

TEST_F(CheckModelTest, AGoodModelHasItsResultingConfiguration) {
  auto good = report(std::string(kGood) + "dynamic_batching { }");
  EXPECT_EQ(lines(good), "");
  ASSERT_TRUE(good.config.has_value());
  EXPECT_EQ(good.config->name(), "m");
  EXPECT_EQ(good.config->dynamic_batching().preferred_batch_size(0), 4);
  EXPECT_EQ(good.config->version_policy().latest().num_versions(), 1u);
}

TEST_F(CheckModelTest, EveryMistakeOfATextAndEveryBrokenRuleIsTold) {
  EXPECT_EQ(lines(R"(backend: "identity"
max_batchsize: 8
input [ { name: "i" data_type: FP32 dims: [ 1 ] } ]
)"),
            "/m/config.pbtxt:2:1: max_batchsize: unknown field 'max_batchsize' in ModelConfig, did you mean "
            "'max_batch_size'?\n"
            "/m/config.pbtxt:3:32: input[0].data_type: unknown value 'FP32' of DataType, did you mean "
            "'TYPE_FP32'?\n");
  EXPECT_EQ(
      lines(R"(backend: "identity" max_batch_size: 2
nme: "x"
dynamic_batching { preferred_batch_size: [ 0, 4 ] }
input { name: "i" data_type: TYPE_FP32 dims: 0 }
output { name: "o" data_type: TYPE_FP32 }
)"),
      "/m/config.pbtxt:2:1: nme: unknown field 'nme' in ModelConfig, did you mean 'name'?\n"
      "/m/config.pbtxt:3:20: dynamic_batching.preferred_batch_size[0]: dynamic batching preferred size "
      "must be positive for m\n"
      "/m/config.pbtxt:3:20: dynamic_batching.preferred_batch_size[1]: dynamic batching preferred size "
      "must be <= max batch size for m\n"
      "/m/config.pbtxt:4:1: input[0]: model input 'i' dimension must be integer >= 1, or -1 to indicate "
      "a variable-size dimension for m\n"
      "/m/config.pbtxt:5:1: output[0]: model output 'o' must specify 'dims' for m\n");
  EXPECT_EQ(lines("input {"), "/m/config.pbtxt:1:8: input[0]: Expected identifier, got: \n");
}

TEST_F(CheckModelTest, NamesAreDerivedAndCompared) {
  EXPECT_EQ(
      lines(
          "name: 'n' backend: 'identity' input { name: 'i' data_type: TYPE_INT8 dims: 1 } output { name: 'o' "
          "data_type: TYPE_INT8 dims: 1 }"),
      "/m/config.pbtxt:1:1: name: unexpected directory name 'm' for model 'n', directory name must equal "
      "model name\n");
  model_.versions.clear();
  EXPECT_EQ(
      lines("max_batch_size: -1 version_policy { all { } }"),
      "/m/config.pbtxt: backend: Invalid model name: Could not determine backend for model 'm' with no "
      "backend in model configuration. Expected model name of the form 'model.<backend_name>'. The model has "
      "no version directory: expected a directory '1' with one of model.onnx, model.py, model.plan, model.pt, "
      "model.pt2, model.xml, model.gguf, model.savedmodel, model.graphdef, "
      "model.tflite, model.pdmodel, model.saved_model\n"
      "/m/config.pbtxt:1:1: max_batch_size: 'max_batch_size' must be non-negative value for m\n"
      "/m/config.pbtxt:1:20: version_policy: at least one version must be available under the version "
      "policy of model 'm'\n");
}

TEST_F(CheckModelTest, WhatOnlyABackendKnowsIsSaid) {
  const std::string note =
      " may complete max_batch_size, input, output and the scheduler from the model's files; it is not asked "
      "here\n";
  auto bare = report("");
  EXPECT_EQ(lines(bare), "/m/config.pbtxt: note: backend 'onnxruntime'" + note);
  ASSERT_TRUE(bare.config.has_value());
  EXPECT_EQ(bare.config->default_model_filename(), "model.onnx");
  file("1/model.py");
  EXPECT_EQ(lines("backend: 'python' input { name: 'i' }"),
            "/m/config.pbtxt:1:19: warning: input[0]: model input 'i' must specify 'data_type' for m\n"
            "/m/config.pbtxt: note: backend 'python'" +
                note);
  options_.strict = true;
  EXPECT_EQ(lines("backend: 'python' input { name: 'i' }"),
            "/m/config.pbtxt:1:19: input[0]: model input 'i' must specify 'data_type' for m\n");
  model_.config_path.clear();
  EXPECT_EQ(lines(check_model(model_, options_)), "/m: model configuration is not provided for model 'm'\n");
  options_.strict = false;
  model_.config_text.clear();
  EXPECT_EQ(lines(check_model(model_, options_)), "/m: note: backend 'onnxruntime'" + note);
}

TEST_F(CheckModelTest, InstanceGroupsWithoutKnowingTheGpus) {
  EXPECT_EQ(
      lines(std::string(kGood) + "instance_group { kind: KIND_GPU gpus: [ 0, 7 ] }"),
      "/m/config.pbtxt:3:1: note: instance_group: whether the server has these GPUs is not known here\n");
  EXPECT_EQ(
      lines(std::string(kGood) + "instance_group [ { kind: KIND_CPU gpus: 0 }, { count: -2 } ]"),
      "/m/config.pbtxt:3:20: instance_group[0]: instance group m_0 of model m has kind KIND_CPU but "
      "specifies one or more GPUs\n"
      "/m/config.pbtxt:3:20: note: instance_group: whether the server has these GPUs is not known here\n"
      "/m/config.pbtxt:3:48: instance_group[1].count: 'instance_group[1].count' of model 'm' is -2, "
      "expected 1 to 1024 or 0 for the default\n");
}

TEST_F(CheckModelTest, FilesMustBeThereAndLongEnough) {
  file("warmup/short", "12345");
  file("warmup/long", "123456789");
  file("initial_state/state", "12");
  file("labels.txt");
  EXPECT_EQ(
      lines(R"(backend: "onnxruntime" default_model_filename: "other.onnx"
input { name: "i" data_type: TYPE_INT32 dims: 2 }
output [ { name: "o" data_type: TYPE_INT32 dims: 2 label_filename: "labels.txt" },
  { name: "p" data_type: TYPE_INT32 dims: 2 label_filename: "none.txt" } ]
model_warmup [ { batch_size: 1 inputs { key: "i" value { data_type: TYPE_INT32 dims: 2 input_data_file: "short" } } },
  { batch_size: 1 inputs { key: "i" value { data_type: TYPE_INT32 dims: 2 input_data_file: "long" } } },
  { batch_size: 1 inputs { key: "i" value { data_type: TYPE_STRING dims: 2 input_data_file: "none" } } } ]
sequence_batching { state { input_name: "s" output_name: "t" data_type: TYPE_INT32 dims: 1
  initial_state { name: "n" data_type: TYPE_INT32 dims: 1 data_file: "state" } } }
)"),
      "/m/config.pbtxt:1:24: default_model_filename: model file '/m/1/other.onnx' is not there\n"
      "/m/config.pbtxt:4:45: output[1].label_filename: label file '/m/none.txt' is not there\n"
      "/m/config.pbtxt:5:32: model_warmup[0].inputs: warmup setting expects 8 bytes, but the data "
      "provided from shortonly has 5 bytes\n"
      "/m/config.pbtxt:7:19: model_warmup[2].inputs: file '/m/warmup/none' is not there\n"
      "/m/config.pbtxt:9:3: sequence_batching.state[0].initial_state[0]: initial_state setting expects 4 "
      "bytes, but the data provided from stateonly has 2 bytes\n");
}

TEST_F(CheckModelTest, WarmUpNamesInputsOfTheModel) {
  EXPECT_EQ(
      lines(std::string(kGood) +
            "model_warmup { name: \"w\" batch_size: 1\n"
            "  inputs { key: \"Q\" value { data_type: TYPE_FP32 dims: 2 zero_data: true } } }"),
      "/m/config.pbtxt:4:3: model_warmup[0].inputs: warmup sample 'w' has input 'Q', which is no input of "
      "the model\n");
}

TEST_F(CheckModelTest, WarnsOfAgentsThatTheServerMayNotHave) {
  EXPECT_EQ(
      lines(std::string(kGood) + "model_repository_agents { agents { name: 'checksum' } }"),
      "/m/config.pbtxt:3:27: warning: model_repository_agents.agents[0]: repository agent 'checksum' is run "
      "only where the server has agents/triton; without it the model is refused\n");
}

TEST_F(CheckModelTest, WarnsOfWhatIsAllowedAndHardlyMeant) {
  model_.ignored = {"version directory '01' of model 'm' is ignored: its name has a leading zero"};
  options_.siblings = {"m", "x"};
  EXPECT_EQ(
      lines(std::string(kGood) + R"(metric_tags { key: "a-b" value: "c" }
model_warmup { name: "w" }
version_policy { specific { versions: [ 1, 9 ] } }
batch_input { source_input: "INPUT0" data_type: TYPE_FP32 }
)"),
      "/m/config.pbtxt: warning: version directory '01' of model 'm' is ignored: its name has a leading zero\n"
      "/m/config.pbtxt:3:1: warning: metric_tags: tag 'a-b' is left out of the metrics, expected letters, "
      "digits and underscores, none first\n"
      "/m/config.pbtxt:4:1: warning: model_warmup[0]: sample 'w' is skipped: its batch_size is 0 or not written\n"
      "/m/config.pbtxt:5:1: warning: version_policy: version 9 is specified for model 'm', but the "
      "version directory is not present\n"
      "/m/config.pbtxt:6:1: warning: batch_input[0]: has no target_name: no tensor is made of it\n");
  model_.ignored.clear();
  EXPECT_EQ(
      lines(R"(platform: "ensemble" input { name: "i" data_type: TYPE_INT8 dims: 1 }
output { name: "o" data_type: TYPE_INT8 dims: 1 }
ensemble_scheduling { step [
  { model_name: "x" input_map { key: "a" value: "i" } output_map { key: "b" value: "t" } },
  { model_name: "y" model_version: -1 input_map { key: "a" value: "t" } output_map { key: "b" value: "o" } } ] }
)"),
      "/m/config.pbtxt:4:5: warning: ensemble_scheduling.step[0]: model_version is 0 or not written: "
      "Atoll takes the latest version, Triton version 0; write -1\n"
      "/m/config.pbtxt:5:5: warning: ensemble_scheduling.step[1]: model 'y' is not in the repository\n");
  EXPECT_EQ(
      lines(
          "backend: 'identity' dynamic_batching { priority_queue_policy { key: 1 value { } } } input { name: 'i' "
          "data_type: TYPE_INT8 dims: 1 } output { name: 'o' data_type: TYPE_INT8 dims: 1 }"),
      "/m/config.pbtxt:1:21: warning: dynamic_batching: max_batch_size is 0: requests are never batched, "
      "unless the backend completes it\n"
      "/m/config.pbtxt:1:40: warning: dynamic_batching.priority_queue_policy: is ignored without "
      "priority_levels\n");
}

TEST_F(CheckModelTest, ManyProblemsAreCounted) {
  std::string text = "backend: 'identity' ";
  for (int i = 0; i < 150; ++i) text += cat("input { name: 'i", i, "' } ");
  auto many = report(text);
  EXPECT_EQ(many.problems.front().text, "and 50 more of this kind");
  EXPECT_EQ(many.problems.size(), 102u);  // and the note on what the backend may complete
}

}  // namespace
}  // namespace atl::config
