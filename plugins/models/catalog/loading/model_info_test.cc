#include "models/catalog/loading/model_info.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "model_config.pb.h"
#include "models/catalog/loading/label_file.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ModelInfoTest : public ::testing::Test {
 protected:
  ModelInfoTest() {
    std::string pattern = (fs::temp_directory_path() / "atoll-model-").string() + std::string(6, 'X');
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ModelInfoTest() override { fs::remove_all(directory_); }
  void write(const std::string& name, std::string_view content) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << content;
  }
  Status labels_failure(const std::string& filename) {
    return read_label_file(directory_.string(), filename, "OUT", "m").status().clone();
  }
  fs::path directory_;
};

TEST_F(ModelInfoTest, TakesWhatRequestsNeed) {
  write("labels/classes.txt", "cat\ndog\r\n\nlast");
  inference::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    name: "m" backend: "onnxruntime" max_batch_size: 8
    model_transaction_policy { decoupled: true }
    input { name: "A" data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ -1, 2 ] } allow_ragged_batch: true }
    input { name: "B" data_type: TYPE_STRING dims: 1 optional: true }
    output { name: "OUT" data_type: TYPE_BF16 dims: 3 label_filename: "labels/./classes.txt" })",
                                                            &config));
  Result<ModelInfo> info = make_model_info(config, config.SerializeAsString(), 12, directory_.string());
  ASSERT_TRUE(info.ok()) << info.status().text();
  EXPECT_EQ(info->name, "m");
  EXPECT_EQ(info->version, 12);
  EXPECT_EQ(info->version_text, "12");
  EXPECT_EQ(info->platform, "onnxruntime");
  EXPECT_EQ(info->max_batch_size, 8U);
  EXPECT_TRUE(info->decoupled);
  EXPECT_EQ(info->required_inputs, 1U);
  EXPECT_THAT(info->inputs[0].dims, ElementsAre(2, -1));
  EXPECT_TRUE(info->inputs[0].has_reshape);
  EXPECT_THAT(info->inputs[0].reshape, ElementsAre(-1, 2));
  EXPECT_TRUE(info->inputs[0].allow_ragged);
  EXPECT_EQ(info->inputs[1].datatype, DataType::kBytes);
  EXPECT_TRUE(info->inputs[1].optional);
  EXPECT_EQ(info->outputs[0].datatype, DataType::kBf16);
  EXPECT_THAT(info->outputs[0].labels, ElementsAre("cat", "dog", "", "last"));
  config.set_platform("onnxruntime_onnx");
  EXPECT_EQ(make_model_info(config, "", 1, directory_.string())->platform, "onnxruntime_onnx");
}

TEST_F(ModelInfoTest, RefusesNamesThatAppearTwice) {
  inference::ModelConfig config;
  config.set_name("m");
  config.add_input()->set_name("A");
  config.add_input()->set_name("A");
  Status status = make_model_info(config, "", 1, "/").status().clone();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "model input 'A' appears twice for m");
}

TEST_F(ModelInfoTest, ReadsLabelsInsideTheModelDirectoryOnly) {
  write("inside.txt", "x");
  for (const char* outside : {"../secret", "/etc/passwd", "a/../../secret", "..", ""}) {
    Status status = labels_failure(outside);
    EXPECT_EQ(status.code(), Code::kUnimplemented) << outside;
    EXPECT_EQ(status.message(), cat("label file path '", directory_.string(), "/", outside,
                                    "' for output 'OUT' in model 'm' is outside model directory"));
  }
  EXPECT_TRUE(labels_failure("a/../inside.txt").ok());
  EXPECT_EQ(labels_failure("missing.txt").code(), Code::kNotFound);
}

TEST_F(ModelInfoTest, RefusesLinksAndDevices) {
  write("real/labels.txt", "x");
  fs::create_symlink("/etc", directory_ / "etc");
  fs::create_symlink("real/labels.txt", directory_ / "link.txt");
  ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  for (const char* name : {"etc/hostname", "link.txt"}) {
    EXPECT_THAT(labels_failure(name).message(), HasSubstr("symbolic link")) << name;
  }
  EXPECT_THAT(labels_failure("pipe").message(), HasSubstr("expected a regular file"));
  EXPECT_THAT(labels_failure("real").message(), HasSubstr("expected a regular file"));
}

TEST_F(ModelInfoTest, RefusesFilesThatAreTooLarge) {
  write("labels.txt", "x");
  fs::resize_file(directory_ / "labels.txt", kLabelFileBytesMax + 1);
  EXPECT_THAT(labels_failure("labels.txt").message(), HasSubstr("has 16777217 bytes, at most 16777216"));
}

TEST(ParseConfig, RefusesOtherBytes) {
  inference::ModelConfig config;
  EXPECT_EQ(parse_config("\xff\xff", &config).code(), Code::kInternal);
}

TEST(FindCorrelationControl, LooksIntoTheControls) {
  inference::ModelConfig config;
  EXPECT_EQ(find_correlation_control(config).datatype, DataType::kInvalid);
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    sequence_batching {
      control_input { name: "START" control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } }
      control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } } })",
                                                            &config));
  EXPECT_EQ(find_correlation_control(config).tensor, "ID");
  EXPECT_EQ(find_correlation_control(config).datatype, DataType::kBytes);
}

}  // namespace
}  // namespace atl::models
