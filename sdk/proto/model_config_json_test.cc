#include "atoll/proto/model_config_json.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model_config.pb.h"

namespace atl::proto {
namespace {

/// Serialized, maps in the order of their keys.
std::string bytes_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  EXPECT_TRUE(config.SerializeToCodedStream(&output));
  output.Trim();
  return bytes;
}

nlohmann::json json_of(const std::string& text) {
  auto json = model_config_json(bytes_of(text));
  EXPECT_TRUE(json.ok()) << json.status().text();
  return nlohmann::json::parse(json.ok() ? *json : "null", nullptr, false);
}

TEST(ModelConfigJson, NothingGivesEmptyText) { EXPECT_EQ(model_config_json("").value(), ""); }

TEST(ModelConfigJson, RefusesWhatIsNoConfiguration) {
  EXPECT_EQ(model_config_json("\x0a\x7f").status().code(), Code::kInternal);
}

TEST(ModelConfigJson, WritesEveryFieldAndKeepsTheOrder) {
  EXPECT_EQ(model_config_json(bytes_of("name: 'm' input { name: 'i' data_type: TYPE_FP32 dims: [ 1, -1 ] }"))
                .value(),
            R"({"name":"m","platform":"","max_batch_size":0,)"
            R"("input":[{"name":"i","data_type":"TYPE_FP32","format":"FORMAT_NONE","dims":[1,-1],)"
            R"("is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,)"
            R"("is_non_linear_format_io":false}],"output":[],"instance_group":[],)"
            R"("default_model_filename":"","cc_model_filenames":{},"metric_tags":{},"parameters":{},)"
            R"("model_warmup":[],"backend":"","batch_input":[],"batch_output":[],"runtime":""})");
}

TEST(ModelConfigJson, NumbersThatClientsKnowAsNumbers) {
  auto json = json_of(R"(
    input { name: 'i' dims: 9223372036854775807 reshape { shape: -1 } }
    output { name: 'o' dims: 3 reshape { shape: 3 } }
    version_policy { specific { versions: [ 9007199254740993, 2 ] } }
    dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 priority_levels: 5 default_priority_level: 4
      default_queue_policy { default_timeout_microseconds: 6 }
      priority_queue_policy { key: 2 value { default_timeout_microseconds: 7 } } }
    model_warmup { inputs { key: 'w' value { dims: 8 } } })");
  EXPECT_EQ(json["input"][0]["dims"].dump(), "[9223372036854775807]");
  EXPECT_EQ(json["input"][0]["reshape"]["shape"].dump(), "[-1]");
  EXPECT_EQ(json["output"][0]["dims"].dump(), "[3]");
  EXPECT_EQ(json["output"][0]["reshape"]["shape"].dump(), "[3]");
  EXPECT_EQ(json["version_policy"]["specific"]["versions"].dump(), "[9007199254740993,2]");
  auto batching = json["dynamic_batching"];
  EXPECT_EQ(batching["max_queue_delay_microseconds"].dump(), "18446744073709551615");
  EXPECT_EQ(batching["priority_levels"].dump(), "5");
  EXPECT_EQ(batching["default_priority_level"].dump(), "4");
  EXPECT_EQ(batching["default_queue_policy"]["default_timeout_microseconds"].dump(), "6");
  EXPECT_EQ(batching["priority_queue_policy"]["2"]["default_timeout_microseconds"].dump(), "7");
  EXPECT_EQ(json["model_warmup"][0]["inputs"]["w"]["dims"].dump(), "[8]");

  json = json_of(R"(
    sequence_batching { max_sequence_idle_microseconds: 1 oldest { max_queue_delay_microseconds: 2 }
      state { dims: 3 } })");
  EXPECT_EQ(json["sequence_batching"]["max_sequence_idle_microseconds"].dump(), "1");
  EXPECT_EQ(json["sequence_batching"]["oldest"]["max_queue_delay_microseconds"].dump(), "2");
  EXPECT_EQ(json["sequence_batching"]["state"][0]["dims"].dump(), "[3]");
  json = json_of("sequence_batching { direct { max_queue_delay_microseconds: 4 } }");
  EXPECT_EQ(json["sequence_batching"]["direct"]["max_queue_delay_microseconds"].dump(), "4");
  json = json_of("ensemble_scheduling { step { model_version: -1 } }");
  EXPECT_EQ(json["ensemble_scheduling"]["step"][0]["model_version"].dump(), "-1");
}

TEST(ModelConfigJson, NumbersThatStayStrings) {
  auto json = json_of(R"(
    sequence_batching { state { initial_state { dims: 1 } } }
    optimization { cuda { graph_spec { input { key: 'i' value { dim: 2 } }
      graph_lower_bound { input { key: 'i' value { dim: 3 } } } } } }
    instance_group { secondary_devices { device_id: 4 } })");
  EXPECT_EQ(json["sequence_batching"]["state"][0]["initial_state"][0]["dims"].dump(), "[\"1\"]");
  auto spec = json["optimization"]["cuda"]["graph_spec"][0];
  EXPECT_EQ(spec["input"]["i"]["dim"].dump(), "[\"2\"]");
  EXPECT_EQ(spec["graph_lower_bound"]["input"]["i"]["dim"].dump(), "[\"3\"]");
  EXPECT_EQ(json["instance_group"][0]["secondary_devices"][0]["device_id"].dump(), "\"4\"");
}

TEST(ModelConfigJson, UnsetMessagesAndOneofsAreLeftOut) {
  auto json = json_of("name: 'm' sequence_batching { state { initial_state { name: 's' } } }");
  EXPECT_FALSE(json.contains("dynamic_batching"));
  EXPECT_FALSE(json.contains("optimization"));
  auto initial = json["sequence_batching"]["state"][0]["initial_state"][0];
  EXPECT_FALSE(initial.contains("zero_data"));
  EXPECT_FALSE(initial.contains("data_file"));
  EXPECT_TRUE(initial.contains("data_type"));
}

TEST(ModelConfigJson, TextIsEscapedAndUserKeysStayAsTheyAre) {
  auto json = json_of(
      "name: 'q\"\\n\\\\<>' metric_tags { key: 'dims' value: '12' } parameters { key: 'input' value { "
      "string_value: '7' } }");
  EXPECT_EQ(json["name"], "q\"\n\\<>");
  EXPECT_EQ(json["metric_tags"]["dims"], "12");
  EXPECT_EQ(json["parameters"]["input"]["string_value"], "7");
}

TEST(ModelConfigJson, MapsAreInOrder) {
  auto json = model_config_json(
      bytes_of("metric_tags { key: 'b' } metric_tags { key: 'a' } metric_tags { key: 'c' }"));
  EXPECT_NE(json->find(R"({"a":"","b":"","c":""})"), std::string::npos) << *json;
}

TEST(ModelConfigJson, FloatsKeepTheirValue) {
  auto json = json_of(
      "sequence_batching { direct { minimum_slot_utilization: 0.1 } } model_metrics { metric_control { "
      "histogram_options { buckets: [ 0.1, 1e300 ] } } }");
  EXPECT_EQ(json["sequence_batching"]["direct"]["minimum_slot_utilization"].dump(), "0.1");
  EXPECT_EQ(json["model_metrics"]["metric_control"][0]["histogram_options"]["buckets"].dump(),
            "[0.1,1e+300]");
}

}  // namespace
}  // namespace atl::proto
