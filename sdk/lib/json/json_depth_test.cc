#include "atoll/lib/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace atl {
namespace {

TEST(JsonDepthTest, BracketsOutsideOfTextsAreCounted) {
  EXPECT_FALSE(is_json_deeper_than("[[1], {\"a\": 2}]", 2));
  EXPECT_TRUE(is_json_deeper_than("[[1], {\"a\": [2]}]", 2));
  EXPECT_FALSE(is_json_deeper_than("[\"[[[\", \"\\\"[[[\"]", 1))
      << "a quote with a backslash does not end a text";
  EXPECT_TRUE(is_json_deeper_than("[\"\\\\\", [2]]", 1))
      << "a backslash with a backslash does not keep it open";
}

TEST(JsonDepthTest, AnyBytesMayBeAsked) {
  EXPECT_FALSE(is_json_deeper_than("", 0));
  EXPECT_FALSE(is_json_deeper_than("]]]]{", 1)) << "brackets too many are no depth";
  EXPECT_FALSE(is_json_deeper_than("\"\\", 0)) << "a text that is cut off";
  EXPECT_TRUE(is_json_deeper_than(std::string(100000, '['), 99999));
}

}  // namespace
}  // namespace atl
