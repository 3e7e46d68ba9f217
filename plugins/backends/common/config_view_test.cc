#include "common/config_view.h"

#include <gtest/gtest.h>

namespace atl::backends {
namespace {

ConfigView with(const std::string& key, const std::string& value) {
  inference::ModelConfig config;
  config.set_name("m");
  (*config.mutable_parameters())[key].set_string_value(value);
  return ConfigView::parse(config.SerializeAsString()).value();
}

TEST(ConfigView, RefusesBytesThatAreNoConfiguration) {
  auto view = ConfigView::parse("\xff\xff\xff");
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.status().code(), Code::kInternal);
}

TEST(ConfigView, ReadsTheCommonFields) {
  inference::ModelConfig config;
  config.set_name("m");
  config.set_max_batch_size(8);
  config.mutable_model_transaction_policy()->set_decoupled(true);
  auto view = ConfigView::parse(config.SerializeAsString());
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->name(), "m");
  EXPECT_EQ(view->max_batch_size(), 8u);
  EXPECT_TRUE(view->decoupled());
  config.set_max_batch_size(-1);
  EXPECT_EQ(ConfigView::parse(config.SerializeAsString())->max_batch_size(), 0u);
}

TEST(ConfigView, IntParameters) {
  EXPECT_EQ(with("n", "7").int_parameter("n", 1, 0, 10).value(), 7);
  EXPECT_EQ(with("n", "-3").int_parameter("n", 1, -3, 10).value(), -3);
  EXPECT_EQ(with("n", "7").int_parameter("other", 1, 0, 10).value(), 1);
  for (const char* bad : {"", " 7", "7 ", "7ms", "0x7", "11", "-1", "99999999999999999999", "seven"}) {
    auto value = with("n", bad).int_parameter("n", 1, 0, 10);
    ASSERT_FALSE(value.ok()) << bad;
    EXPECT_EQ(value.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(value.status().message(), cat("model 'm': parameter 'n' is '", std::string_view(bad),
                                            "', expected a whole number from 0 to 10"));
  }
}

TEST(ConfigView, BoolParameters) {
  for (const char* text : {"true", "1"}) EXPECT_TRUE(with("b", text).bool_parameter("b", false).value());
  for (const char* text : {"false", "0"}) EXPECT_FALSE(with("b", text).bool_parameter("b", true).value());
  EXPECT_TRUE(with("b", "0").bool_parameter("other", true).value());
  for (const char* bad : {"", "True", "yes", "2"}) {
    EXPECT_EQ(with("b", bad).bool_parameter("b", true).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(ConfigView, DataTypesHaveTheSameNumbers) {
  for (uint32_t i = 0; i < kDataTypeCount; ++i) {
    auto type = static_cast<DataType>(i);
    std::string name = inference::DataType_Name(config_data_type_of(type));
    EXPECT_EQ(data_type_of(config_data_type_of(type)), type);
    if (type == DataType::kInvalid || type == DataType::kBytes) continue;  // TYPE_STRING is BYTES on the wire
    EXPECT_EQ(name, cat("TYPE_", data_type_name(type)));
  }
}

}  // namespace
}  // namespace atl::backends
