#include "atoll/core/utf8.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Utf8, KnowsWellFormedText) {
  for (std::string_view text :
       {"", "a", "plain", "eight by", "nine bytes and more", "\xC2\x80", "\xC3\xA9", "12345678\xE2\x82\xAC",
        "\xE0\xA0\x80", "\xED\x9F\xBF", "\xF0\x90\x80\x80", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (std::string_view text :
       {"\x80", "\xC0\x80", "\xC0\xAF", "\xC2", "\xC3", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "12345678\xFF", "\xE2\x82", "a\xE2\x82",
        "\xE2\x28\xA1"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(Utf8, SequenceLengths) {
  EXPECT_EQ(utf8_sequence_length(""), 0u);
  EXPECT_EQ(utf8_sequence_length("a"), 1u);
  EXPECT_EQ(utf8_sequence_length("\xc3\xbc"), 2u);
  EXPECT_EQ(utf8_sequence_length("\xe2\x82\xac!"), 3u);
  EXPECT_EQ(utf8_sequence_length("\xf4\x8f\xbf\xbf"), 4u);
  EXPECT_EQ(utf8_sequence_length("\xf4\x90\x80\x80"), 0u);
  EXPECT_EQ(utf8_sequence_length("\xf0\x80\x80\x8a"), 0u);
  EXPECT_EQ(utf8_sequence_length("\x80"), 0u);
}

TEST(Utf8, EachByteThatIsNoPartOfACharacterIsReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8(""), "");
  EXPECT_EQ(replace_invalid_utf8("plain"), "plain");
  for (const char* good : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(replace_invalid_utf8(good), good);
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2", "\xE2\x82", "\xF0\x9F\x98"}) {
    std::string all;
    for (size_t i = 0; i < std::string_view(bad).size(); ++i) all += replaced;
    EXPECT_EQ(replace_invalid_utf8(bad), all);
    EXPECT_EQ(replace_invalid_utf8(std::string("a") + bad + "b"), "a" + all + "b");
  }
}

}  // namespace
}  // namespace atl
