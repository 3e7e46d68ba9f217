#include "atoll/backend/parameters.h"

#include <gtest/gtest.h>

namespace atl::backends {
namespace {

ModelDescription with(const std::string& key, const std::string& value) {
  ModelDescription model;
  model.name = "m";
  model.parameters[key] = value;
  return model;
}

TEST(Parameters, Texts) {
  EXPECT_EQ(text_parameter(with("t", "x"), "t"), "x");
  EXPECT_EQ(text_parameter(with("t", ""), "t"), "");
  EXPECT_FALSE(text_parameter(with("t", "x"), "other"));
}

TEST(Parameters, WholeNumbers) {
  EXPECT_EQ(int_parameter(with("n", "7"), "n", 1, 0, 10).value(), 7);
  EXPECT_EQ(int_parameter(with("n", "-3"), "n", 1, -3, 10).value(), -3);
  EXPECT_EQ(int_parameter(with("n", "7"), "other", 1, 0, 10).value(), 1);
  EXPECT_EQ(int_parameter(with("n", "-9223372036854775808"), "n", 1).value(), INT64_MIN);
  for (const char* bad : {"", " 7", "7 ", "7ms", "0x7", "11", "-1", "99999999999999999999", "seven"}) {
    auto value = int_parameter(with("n", bad), "n", 1, 0, 10);
    ASSERT_FALSE(value.ok()) << bad;
    EXPECT_EQ(value.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(value.status().message(), cat("model 'm': parameter 'n' is '", std::string_view(bad),
                                            "', expected a whole number from 0 to 10"));
  }
}

TEST(Parameters, Fractions) {
  EXPECT_EQ(float_parameter(with("f", "0.25"), "f", 1).value(), 0.25);
  EXPECT_EQ(float_parameter(with("f", "-1e3"), "f", 1).value(), -1000);
  EXPECT_EQ(float_parameter(with("f", "0.25"), "other", 1).value(), 1);
  for (const char* bad : {"", "half", "1.5x", "nan", "inf", "2.5", "1e999"}) {
    auto value = float_parameter(with("f", bad), "f", 1, 0.5, 2);
    ASSERT_FALSE(value.ok()) << bad;
    EXPECT_EQ(value.status().message(), cat("model 'm': parameter 'f' is '", std::string_view(bad),
                                            "', expected a number from 0.5 to 2"));
  }
}

TEST(Parameters, TruthValues) {
  for (const char* text : {"true", "1"}) EXPECT_TRUE(bool_parameter(with("b", text), "b", false).value());
  for (const char* text : {"false", "0"}) EXPECT_FALSE(bool_parameter(with("b", text), "b", true).value());
  EXPECT_TRUE(bool_parameter(with("b", "0"), "other", true).value());
  for (const char* bad : {"", "True", "yes", "2"}) {
    EXPECT_EQ(bool_parameter(with("b", bad), "b", true).status().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace atl::backends
