#include "backends/tensorflow/tf_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/tensorflow/testing/tf_fixture.h"

namespace atl::tensorflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string parameter(const std::string& key, const std::string& value) {
  return cat("parameters { key: '", key, "' value { string_value: '", value, "' } } ");
}

class TfSettingsTest : public ::testing::Test {
 protected:
  Result<TfSettings> read(const std::string& text, std::map<std::string, std::string> settings = {}) {
    const inference::ModelConfig config = config_of(text);
    ModelSource source = source_of(folder_.path(), config);
    source.settings.merge(settings);
    return read_tf_settings(config, source, {.intra_op_threads = 6}, log_);
  }
  std::string refusal(const std::string& text, const std::map<std::string, std::string>& settings = {}) {
    return read(text, settings).status().text();
  }
  ModelSource source() { return source_of(folder_.path(), config_of("")); }

  atl::test::TemporaryDirectory folder_;
  atl::test::RecordingLog log_;
};

TEST_F(TfSettingsTest, ParametersHaveTritonsNames) {
  auto plain = read("");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->intra_op_threads, 6);
  EXPECT_EQ(plain->inter_op_threads, -1);
  EXPECT_FALSE(plain->per_session_threads);
  auto written = read(parameter("TF_NUM_INTRA_THREADS", "2") + parameter("TF_NUM_INTER_THREADS", "0") +
                      parameter("TF_USE_PER_SESSION_THREADS", "1") + parameter("TF_GRAPH_TAG", "t") +
                      parameter("TF_SIGNATURE_DEF", "s") + parameter("MAX_SESSION_SHARE_COUNT", "3") +
                      "optimization { graph { level: 7 } }");
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(written->intra_op_threads, 2);
  EXPECT_EQ(written->inter_op_threads, 6);
  EXPECT_TRUE(written->per_session_threads);
  EXPECT_EQ(written->graph_tag, "t");
  EXPECT_EQ(written->signature, "s");
  EXPECT_EQ(written->jit_level, 2);
}

TEST_F(TfSettingsTest, WrongValuesAreNamed) {
  EXPECT_THAT(refusal(parameter("TF_NUM_INTRA_THREADS", "-1")),
              HasSubstr("expected a whole number from 0 to 1024"));
  EXPECT_THAT(refusal(parameter("TF_NUM_INTER_THREADS", "-2")), HasSubstr("'TF_NUM_INTER_THREADS' is '-2'"));
  EXPECT_THAT(refusal(parameter("MAX_SESSION_SHARE_COUNT", "0")), HasSubstr("MAX_SESSION_SHARE_COUNT"));
  EXPECT_THAT(refusal("", {{"allow-soft-placement", "maybe"}}), HasSubstr("found 'maybe'"));
  EXPECT_THAT(refusal("", {{"version", "1"}}), HasSubstr("backend setting 'version': found '1'"));
  EXPECT_THAT(refusal("optimization { execution_accelerators { cpu_execution_accelerator { name: 'x' } } }"),
              HasSubstr("found cpu_execution_accelerator 'x', expected none"));
}

TEST_F(TfSettingsTest, GpuAcceleratorsHaveNoEffectAndALine) {
  EXPECT_TRUE(
      read("optimization { execution_accelerators { gpu_execution_accelerator { name: 'tensorrt' } } }")
          .ok());
  EXPECT_TRUE(log_.contains("gpu_execution_accelerator is ignored"));
}

TEST_F(TfSettingsTest, TheBytesAreAConfigProto) {
  TfSettings settings;
  const std::string no_gpus("\x0a\x07\x0a\x03GPU\x10\x00", 9);
  EXPECT_EQ(
      settings.config_bytes(),
      no_gpus + std::string("\x10\x01\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x38\x01\x48\x00", 17));
  settings.jit_level = 1;
  EXPECT_THAT(settings.config_bytes(), testing::EndsWith("\x52\x04\x1a\x02\x28\x01"));
}

TEST_F(TfSettingsTest, ALibraryOfOperationsIsAFileOfTheModel) {
  write_file(folder_.path() / "m" / "ops" / "my.so", "x");
  write_file(folder_.path() / "other.so", "x");
  const std::string model = (folder_.path() / "m").string();
  EXPECT_THAT(find_operation_file(model, "ops/my.so").value(), HasSubstr("m/ops/my.so"));
  EXPECT_TRUE(find_operation_file(model, model + "/ops/my.so").ok());
  EXPECT_THAT(find_operation_file(model, "../other.so").status().text(),
              HasSubstr("expected a file inside the model's folder"));
  std::filesystem::create_symlink(folder_.path() / "other.so", folder_.path() / "m" / "link.so");
  EXPECT_EQ(find_operation_file(model, "link.so").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_operation_file(model, "ops").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_operation_file(model, "none.so").status().code(), Code::kNotFound);
}

TEST_F(TfSettingsTest, InitOperationsAreReadFromTheVersionOrTheModel) {
  write_file(folder_.path() / "init.json", R"({"init_ops": ["a", "b"]})");
  EXPECT_THAT(read_init_operations(source(), "init.json").value(), ElementsAre("a", "b"));
  write_file(folder_.path() / "1" / "init.json", R"({"init_ops": ["c"]})");
  EXPECT_THAT(read_init_operations(source(), "init.json").value(), ElementsAre("c"));
  for (const char* wrong : {"", "{", "[]", R"({"init_ops": [1]})", R"({"init_ops": "a"})"}) {
    write_file(folder_.path() / "1" / "init.json", wrong);
    EXPECT_THAT(read_init_operations(source(), "init.json").status().text(),
                HasSubstr("expected {\"init_ops\": [...]}"))
        << wrong;
  }
  EXPECT_EQ(read_init_operations(source(), "none.json").status().code(), Code::kNotFound);
  EXPECT_EQ(read_init_operations(source(), "../init.json").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(read_init_operations(source(), "/init.json").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::tensorflow::test
