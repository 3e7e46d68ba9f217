#include "backends/common/config_view.h"

#include <gtest/gtest.h>

namespace atl::backends {
namespace {

TEST(ConfigView, RefusesBytesThatAreNoConfiguration) {
  auto view = ConfigView::parse("\xff\xff\xff");
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.status().code(), Code::kInternal);
}

TEST(ConfigView, HoldsTheMessage) {
  inference::ModelConfig config;
  config.set_name("m");
  auto view = ConfigView::parse(config.SerializeAsString());
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->message().name(), "m");
}

TEST(ConfigView, DataTypesHaveTheSameNumbers) {
  for (uint32_t i = 0; i < kDataTypeCount; ++i) {
    auto type = static_cast<DataType>(i);
    const auto config_type = static_cast<inference::DataType>(type);
    const std::string& name = inference::DataType_Name(config_type);
    EXPECT_EQ(data_type_of(config_type), type);
    if (type == DataType::kInvalid || type == DataType::kBytes) continue;  // TYPE_STRING is BYTES on the wire
    EXPECT_EQ(name, cat("TYPE_", data_type_name(type)));
  }
}

}  // namespace
}  // namespace atl::backends
