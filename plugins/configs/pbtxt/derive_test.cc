#include "configs/pbtxt/derive.h"

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

/// "backend platform file" of a model whose version directories hold files; those ending in '/' are
/// directories.
class DeriveTest : public ::testing::Test {
 protected:
  std::string derived(const std::string& text, const std::vector<std::string>& files = {},
                      const std::string& name = "m") {
    RepositoryModel model;
    model.entry = {name, root_.path(), root_.path() / name};
    for (const std::string& file : files) {
      std::filesystem::path path = std::filesystem::path(model.entry.path) / file;
      std::filesystem::create_directories(file.ends_with('/') ? path : path.parent_path());
      if (!file.ends_with('/')) std::ofstream(path) << "x";
      int64_t version = std::stoll(file);
      bool known = false;
      for (const auto& other : model.versions) known |= other.version == version;
      if (!known) model.versions.push_back({version, model.entry.path + "/" + std::to_string(version)});
    }
    auto config = config_of(text);
    Status status = derive(model, SourceMap(), &config);
    std::filesystem::remove_all(model.entry.path);
    if (!status.ok()) return std::string(status.message());
    EXPECT_FALSE(config.name().empty());
    return cat(config.backend(), " ", config.platform(), " ", config.default_model_filename());
  }

  test::TemporaryDirectory root_;
};

TEST_F(DeriveTest, NameFromTheDirectory) {
  auto config = config_of("backend: \"python\"");
  ASSERT_TRUE(derive(model_with(""), SourceMap(), &config).ok());
  EXPECT_EQ(config.name(), "m");
  config = config_of("backend: \"python\" name: \"other\"");
  ASSERT_TRUE(derive(model_with(""), SourceMap(), &config).ok());
  EXPECT_EQ(config.name(), "other");
}

TEST_F(DeriveTest, FromWhatIsWritten) {
  struct Case {
    const char* text;
    const char* expected;
  } cases[] = {
      {"platform: 'tensorflow_graphdef'", "tensorflow tensorflow_graphdef model.graphdef"},
      {"platform: 'tensorflow_savedmodel'", "tensorflow tensorflow_savedmodel model.savedmodel"},
      {"platform: 'tensorflow_savedmodel' default_model_filename: 'f'", "tensorflow tensorflow_savedmodel f"},
      {"default_model_filename: 'model.graphdef'", "tensorflow tensorflow_graphdef model.graphdef"},
      {"backend: 'tensorflow' default_model_filename: 'model.savedmodel'",
       "tensorflow tensorflow_savedmodel model.savedmodel"},
      {"backend: 'tensorflow'", "tensorflow  "},
      {"platform: 'tensorrt_plan'", "tensorrt tensorrt_plan model.plan"},
      {"backend: 'tensorrt'", "tensorrt tensorrt_plan model.plan"},
      {"default_model_filename: 'model.plan'", "tensorrt tensorrt_plan model.plan"},
      {"backend: 'onnxruntime'", "onnxruntime onnxruntime_onnx model.onnx"},
      {"backend: 'onnxruntime' default_model_filename: 'x.onnx'", "onnxruntime onnxruntime_onnx x.onnx"},
      {"platform: 'onnxruntime_onnx'", "onnxruntime onnxruntime_onnx model.onnx"},
      {"default_model_filename: 'model.onnx'", "onnxruntime onnxruntime_onnx model.onnx"},
      {"backend: 'openvino'", "openvino  model.xml"},
      {"backend: 'openvino' platform: 'p'", "openvino p model.xml"},
      {"default_model_filename: 'model.xml'", "openvino  model.xml"},
      {"default_model_filename: 'model.tflite'", "openvino  model.tflite"},
      {"default_model_filename: 'model.saved_model'", "openvino  model.saved_model"},
      {"backend: 'pytorch'", "pytorch pytorch_libtorch model.pt"},
      {"platform: 'pytorch_libtorch'", "pytorch pytorch_libtorch "},
      {"platform: 'libtorch'", "pytorch libtorch "},
      {"platform: 'torch_aoti'", "pytorch torch_aoti model.pt2"},
      {"default_model_filename: 'model.pt'", "pytorch pytorch_libtorch model.pt"},
      {"default_model_filename: 'model.pt2'", "pytorch pytorch_libtorch model.pt2"},
      {"default_model_filename: 'net.gguf'", "llamacpp  net.gguf"},
      {"backend: 'llamacpp'", "llamacpp  "},
      {"backend: 'python'", "python  model.py"},
      {"default_model_filename: 'model.py'", "python  model.py"},
      {"backend: 'python' default_model_filename: 'x.py'", "python  x.py"},
      {"backend: 'foo'", "foo  "},
      {"platform: 'ensemble'", " ensemble "},
      {"default_model_filename: 'weights'", "  weights"},
  };
  for (const Case& c : cases) EXPECT_EQ(derived(c.text), c.expected) << c.text;
}

TEST_F(DeriveTest, FromTheFiles) {
  struct Case {
    std::vector<std::string> files;
    const char* expected;
  } cases[] = {
      {{"1/model.savedmodel/"}, "tensorflow tensorflow_savedmodel model.savedmodel"},
      {{"1/model.graphdef"}, "tensorflow tensorflow_graphdef model.graphdef"},
      {{"1/model.savedmodel/", "1/model.graphdef"}, "tensorflow tensorflow_graphdef model.graphdef"},
      {{"1/model.plan"}, "tensorrt tensorrt_plan model.plan"},
      {{"1/model.onnx"}, "onnxruntime onnxruntime_onnx model.onnx"},
      {{"1/model.onnx/"}, "onnxruntime onnxruntime_onnx model.onnx"},
      {{"1/model.xml"}, "openvino  model.xml"},
      {{"1/model.tflite", "1/model.pb"}, "openvino  model.tflite"},
      {{"1/model.pdmodel"}, "openvino  model.pdmodel"},
      {{"1/model.saved_model/"}, "openvino  model.saved_model"},
      {{"1/model.pt"}, "pytorch pytorch_libtorch "},
      {{"1/model.pt2"}, "pytorch torch_aoti model.pt2"},
      {{"1/model.py"}, "python  model.py"},
      {{"1/model.gguf"}, "llamacpp  "},
      {{"1/SmolLM2-135M-Instruct.Q4_0.gguf", "1/LICENSE"}, "llamacpp  "},
      {{"1/model.onnx", "1/any.gguf"}, "onnxruntime onnxruntime_onnx model.onnx"},
      {{"1/model.plan", "1/model.onnx", "1/model.py"}, "tensorrt tensorrt_plan model.plan"},
      {{"2/model.plan", "10/model.onnx"}, "onnxruntime onnxruntime_onnx model.onnx"},
  };
  for (const Case& c : cases) EXPECT_EQ(derived("", c.files), c.expected) << c.files.front();
  EXPECT_EQ(derived("backend: 'foo'", {"1/model.onnx"}), "foo  ");
  EXPECT_EQ(derived("backend: 'openvino'", {"1/model.onnx"}), "openvino  model.onnx");
  EXPECT_EQ(derived("backend: 'openvino'", {"1/other.onnx"}), "openvino  model.xml");
  EXPECT_EQ(derived("backend: 'tensorflow'", {"1/model.graphdef"}),
            "tensorflow tensorflow_graphdef model.graphdef");
}

TEST_F(DeriveTest, FromTheModelsNameAtLast) {
  EXPECT_EQ(derived("", {}, "a.b.c"), "b.c  model.b.c");
  EXPECT_EQ(derived("", {"1/model.plan/"}, "x.identity"), "identity  model.identity");
}

TEST_F(DeriveTest, WhatIsMissingIsTold) {
  const std::string text =
      "Invalid model name: Could not determine backend for model 'm' with no backend in model configuration. "
      "Expected model name of the form 'model.<backend_name>'. ";
  const std::string known =
      "model.onnx, model.py, model.plan, model.pt, model.pt2, model.xml, model.gguf, model.savedmodel, model.graphdef, "
      "model.tflite, model.pdmodel, model.saved_model";
  struct Case {
    std::vector<std::string> files;
    const char* missing;
  } cases[] = {
      {{"1/net.onnx"}, "Version directory '1' has 'net.onnx': expected one of "},
      {{"7/a", "7/net.py", "7/Model.ONNX", "7/.hidden"},
       "Version directory '7' has 'net.py', 'Model.ONNX', 'a': expected one of "},
      {{"1/a", "1/b", "1/c", "1/d", "1/weights.pt"},
       "Version directory '1' has 'weights.pt', 'a', 'b' and 2 more: expected one of "},
      {{"1/weights"}, "Version directory '1' has 'weights': expected one of "},
      {{"1/"}, "Version directory '1' is empty: expected one of "},
      {{"1/bad\xff"}, "Version directory '1' has 'bad\xef\xbf\xbd': expected one of "},
  };
  for (const Case& c : cases) EXPECT_EQ(derived("", c.files), text + c.missing + known) << c.files.front();
  EXPECT_EQ(derived("", {}),
            text + "The model has no version directory: expected a directory '1' with one of " + known);
}

TEST_F(DeriveTest, AFileWithoutAVersionDirectoryIsTold) {
  RepositoryModel model;
  model.entry = {"m", root_.path(), root_.path() / "m"};
  std::filesystem::create_directories(model.entry.path);
  for (const char* file : {"model.onnx", "config.pbtxt", "labels.txt"}) {
    std::ofstream(std::filesystem::path(model.entry.path) / file) << "x";
  }
  auto config = config_of("");
  const std::string text(derive(model, SourceMap(), &config).message());
  EXPECT_NE(
      text.find("'model.<backend_name>'. The model has no version directory and 'model.onnx' beside where it "
                "should be: expected a directory '1' with one of model.onnx, "),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace atl::pbtxt
