#include "frontends/common/json/model_config_json.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <limits>

namespace atl::frontends {
namespace {

using inference::ModelConfig;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// What was written, read by protobuf, which takes 64-bit integers as numbers and as texts.
ModelConfig read_back(const std::string& json) {
  ModelConfig config;
  auto status = google::protobuf::util::JsonStringToMessage(json, &config);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << json;
  return config;
}

TEST(ModelConfigJson, WritesDefaultsAndLeavesOutWhatIsNotSet) {
  const std::string json = model_config_json(ModelConfig());
  EXPECT_TRUE(json.starts_with(R"({"name":"","platform":"",)")) << json;
  EXPECT_TRUE(contains(json, R"("backend":"")"));
  EXPECT_TRUE(contains(json, R"("max_batch_size":0)"));
  EXPECT_TRUE(contains(json, R"("input":[])"));
  EXPECT_TRUE(contains(json, R"("parameters":{})"));
  for (const char* unset : {"version_policy", "dynamic_batching", "sequence_batching", "optimization"}) {
    EXPECT_FALSE(contains(json, unset)) << unset;
  }
}

TEST(ModelConfigJson, NumbersOf64BitsAreNumbers) {
  ModelConfig config;
  auto* input = config.add_input();
  input->set_name("I");
  input->set_data_type(inference::TYPE_FP32);
  input->add_dims(-1);
  input->add_dims(std::numeric_limits<int64_t>::max());
  input->mutable_reshape()->add_shape(4);
  config.mutable_version_policy()->mutable_specific()->add_versions(7);
  auto* batching = config.mutable_dynamic_batching();
  batching->set_max_queue_delay_microseconds(std::numeric_limits<uint64_t>::max());
  (*batching->mutable_priority_queue_policy())[10].set_default_timeout_microseconds(5);
  (*batching->mutable_priority_queue_policy())[9].set_max_queue_size(6);
  const std::string json = model_config_json(config);
  EXPECT_TRUE(contains(json, R"("dims":[-1,9223372036854775807])")) << json;
  EXPECT_TRUE(contains(json, R"("data_type":"TYPE_FP32")"));
  EXPECT_TRUE(contains(json, R"("reshape":{"shape":[4]})"));
  EXPECT_TRUE(contains(json, R"("version_policy":{"specific":{"versions":[7]}})"));
  EXPECT_TRUE(contains(json, R"("max_queue_delay_microseconds":18446744073709551615)"));
  EXPECT_TRUE(contains(json, R"("priority_queue_policy":{"9":{"timeout_action":"REJECT",)")) << json;
  EXPECT_LT(json.find(R"("9":{)"), json.find(R"("10":{)")) << "by number, not by text";
  EXPECT_EQ(model_config_json(read_back(json)), json);
}

TEST(ModelConfigJson, RealNumbersAreAsShortAsTheyCanBe) {
  ModelConfig config;
  auto* direct = config.mutable_sequence_batching()->mutable_direct();
  direct->set_minimum_slot_utilization(0.1F);
  const std::string json = model_config_json(config);
  EXPECT_TRUE(contains(json, R"("minimum_slot_utilization":0.1)")) << json;
  EXPECT_FALSE(contains(json, "0.10"));
  direct->set_minimum_slot_utilization(std::numeric_limits<float>::infinity());
  EXPECT_TRUE(contains(model_config_json(config), R"("minimum_slot_utilization":"Infinity")"));
  direct->set_minimum_slot_utilization(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(contains(model_config_json(config), R"("minimum_slot_utilization":"NaN")"));
}

TEST(ModelConfigJson, AnEnumNumberWithoutANameIsANumber) {
  ModelConfig config;
  config.add_input()->set_data_type(static_cast<inference::DataType>(99));
  EXPECT_TRUE(contains(model_config_json(config), R"("data_type":99)"));
}

TEST(ModelConfigJson, MapsAreOrderedByKey) {
  ModelConfig config;
  for (const char* key : {"c", "a", "b"}) (*config.mutable_parameters())[key].set_string_value("v");
  EXPECT_TRUE(contains(
      model_config_json(config),
      R"("parameters":{"a":{"string_value":"v"},"b":{"string_value":"v"},"c":{"string_value":"v"}})"));
}

/// Sets every field of the schema, two of each that repeats.
void fill(google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const auto& type = *message->GetDescriptor();
  const auto& reflection = *message->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    for (int item = 0; item < (field->is_repeated() ? 2 : 1); ++item) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        auto* inner = field->is_repeated() ? reflection.AddMessage(message, field)
                                           : reflection.MutableMessage(message, field);
        fill(inner);
        if (!field->is_map()) continue;
        const FieldDescriptor* key = field->message_type()->map_key();
        if (key->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          inner->GetReflection()->SetString(inner, key, item == 0 ? "k" : "l");
        } else {
          inner->GetReflection()->SetUInt64(inner, key, static_cast<uint64_t>(item));
        }
      } else if (field->is_repeated()) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) reflection.AddString(message, field, "x\n");
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) reflection.AddInt32(message, field, -3);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) reflection.AddInt64(message, field, -4);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) reflection.AddFloat(message, field, 0.3F);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) reflection.AddDouble(message, field, 0.3);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) reflection.AddBool(message, field, true);
      } else {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          reflection.SetString(message, field, "\xC3\xA4");
        }
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) reflection.SetInt32(message, field, -5);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) reflection.SetInt64(message, field, -6);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) reflection.SetUInt32(message, field, 7);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
          reflection.SetUInt64(message, field, uint64_t{1} << 60);
        }
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) reflection.SetFloat(message, field, 0.7F);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) reflection.SetDouble(message, field, 1e300);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) reflection.SetBool(message, field, true);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) reflection.SetEnumValue(message, field, 1);
      }
    }
  }
}

TEST(ModelConfigJson, EveryFieldOfTheSchemaIsReadBackByProtobuf) {
  ModelConfig config;
  fill(&config);
  const ModelConfig read = read_back(model_config_json(config));
  // Maps may be serialized in any order, so texts of the ordered form are compared.
  EXPECT_EQ(model_config_json(read), model_config_json(config));
  EXPECT_EQ(read.ByteSizeLong(), config.ByteSizeLong());
}

}  // namespace
}  // namespace atl::frontends
