#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "atoll/proto/model_config_json.h"
#include "model_config.pb.h"

namespace atl::proto {
namespace {

inference::ModelConfig config_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

void expect_config(std::string_view json, const std::string& text) {
  auto bytes = model_config_from_json(json);
  ASSERT_TRUE(bytes.ok()) << json << ": " << bytes.status().text();
  inference::ModelConfig config;
  ASSERT_TRUE(config.ParseFromString(*bytes));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(config, config_of(text))) << json;
}

std::string refusal(std::string_view json) {
  auto bytes = model_config_from_json(json);
  EXPECT_EQ(bytes.status().code(), Code::kInvalidArgument) << json.substr(0, 100);
  return std::string(bytes.status().message());
}

TEST(ModelConfigFromJson, ReadsWhatClientsWrite) {
  expect_config("{}", "");
  expect_config(R"({"backend":"onnxruntime","max_batch_size":8})",
                "backend: 'onnxruntime' max_batch_size: 8");
  expect_config(R"({"maxBatchSize":"8"})", "max_batch_size: 8");
  expect_config(R"({"version_policy":{"specific":{"versions":[1,"2"]}}})",
                "version_policy { specific { versions: [ 1, 2 ] } }");
  expect_config(R"({"input":[{"name":"i","data_type":"type_fp32","dims":[-1,"16"]}]})",
                "input { name: 'i' data_type: TYPE_FP32 dims: [ -1, 16 ] }");
  expect_config(R"({"parameters":{"k":{"string_value":"v"}},"dynamic_batching":{}})",
                "parameters { key: 'k' value { string_value: 'v' } } dynamic_batching {}");
}

TEST(ModelConfigFromJson, ReadsWhatTheOtherWayWrites) {
  auto config = config_of(R"(
    name: 'm' input { name: 'i' data_type: TYPE_STRING dims: [ 4 ] reshape { shape: [ 2, 2 ] } }
    instance_group { kind: KIND_CPU count: 2 } ensemble_scheduling { step { model_name: 'a' model_version: -1
      input_map { key: 'x' value: 'y' } } })");
  auto json = model_config_json(config.SerializeAsString());
  ASSERT_TRUE(json.ok());
  auto bytes = model_config_from_json(*json);
  ASSERT_TRUE(bytes.ok()) << bytes.status().text();
  inference::ModelConfig back;
  ASSERT_TRUE(back.ParseFromString(*bytes));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equivalent(back, config));
}

TEST(ModelConfigFromJson, SaysWhatIsWrong) {
  EXPECT_NE(refusal(R"({"max_batchsize":8})").find("max_batchsize"), std::string::npos);
  EXPECT_NE(refusal(R"({"max_batch_size":"many"})").find("max_batch_size"), std::string::npos);
  EXPECT_NE(refusal(R"({"input":[{"data_type":"TYPE_FP17"}]})").find("data_type"), std::string::npos);
  EXPECT_EQ(refusal(R"({"backend":"a","backend":"b"})"),
            "the JSON object has the member 'backend' twice, expected once");
  EXPECT_EQ(refusal(R"({"parameters":{"k":{"string_value":"v"},"k":{"string_value":"w"}}})"),
            "the JSON object has the member 'k' twice, expected once");
  for (const char* text : {"", "null", "[]", "1", "\"x\"", "{", "{} {}", "backend: 'x'"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
}

TEST(ModelConfigFromJson, SurvivesHostileTexts) {
  std::string deep(1'000'000, '[');
  EXPECT_NE(refusal(deep), "");
  EXPECT_NE(refusal(R"({"parameters":)" + deep), "");
  std::string nested = R"({"model_warmup":[)";
  for (int i = 0; i < 100'000; ++i) nested += R"({"inputs":)";
  EXPECT_NE(refusal(nested), "");
  EXPECT_NE(refusal(std::string(kConfigJsonBytesMax + 1, ' ')).find("expected at most 16777216"),
            std::string::npos);
  EXPECT_NE(refusal("{\"name\":\"\xff\"}"), "");
  EXPECT_NE(refusal(R"({"max_batch_size":1e400})"), "");
  EXPECT_NE(refusal(R"({"max_batch_size":1.5})"), "");
}

}  // namespace
}  // namespace atl::proto
