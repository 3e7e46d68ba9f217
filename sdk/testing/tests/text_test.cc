#include "atoll/core/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace atl {
namespace {

TEST(Text, JoinsEveryKindOfPart) {
  const char* pointer = "pointer";
  std::string_view view = "view";
  EXPECT_EQ(cat("literal", ' ', pointer, ' ', view, ' ', std::string("string")),
            "literal pointer view string");
  EXPECT_EQ(cat(true, false, 1, -2, 3u, uint8_t{4}, int64_t{-5}), "truefalse1-234-5");
  EXPECT_EQ(cat(std::numeric_limits<uint64_t>::max(), ' ', std::numeric_limits<int64_t>::min()),
            "18446744073709551615 -9223372036854775808");
  EXPECT_EQ(cat(0.5, ' ', 1e300, ' ', 1.0f), "0.5 1e+300 1");
  EXPECT_EQ(cat(), "");
}

TEST(Text, ShapesLookAsOnTheWire) {
  EXPECT_EQ(shape_text(std::vector<int64_t>{-1, 3}), "[-1,3]");
  EXPECT_EQ(shape_text({}), "[]");
}

TEST(FixedText, KeepsWhatFitsAndMarksWhatIsCut) {
  EXPECT_EQ(FixedText<16>().view(), "");
  EXPECT_EQ(FixedText<16>("123456789012345").view(), "123456789012345");
  EXPECT_EQ(FixedText<16>("1234567890123456").view(), "123456789012...");
  EXPECT_TRUE(FixedText<16>("same") == FixedText<16>("same"));
  EXPECT_FALSE(FixedText<16>("same") == FixedText<16>("other"));
  static_assert(std::is_trivially_copyable_v<FixedText<16>>);
}

}  // namespace
}  // namespace atl
