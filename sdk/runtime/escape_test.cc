#include "atoll/runtime/escape.h"

#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

std::string text_form(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

std::string json_form(std::string_view text) {
  std::string out;
  append_json_escaped(out, text);
  return out;
}

TEST(EscapeTest, EveryKindOfCharacter) {
  struct Case {
    std::string_view raw;
    std::string_view text;
    std::string_view json;
  };
  const Case kCases[] = {
      {"plain, \"quoted\" \\ text", "plain, \"quoted\" \\ text", "plain, \\\"quoted\\\" \\\\ text"},
      {"a\nb\rc\td", "a\\nb\\rc\\td", "a\\nb\\rc\\td"},
      {"\x1b[31m\x07", "\\x1b[31m\\x07", "\\u001b[31m\\u0007"},
      {std::string_view("\0", 1), "\\x00", "\\u0000"},
      {"\x7f", "\\x7f", "\\u007f"},
      {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x9f", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x9f",
       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x9f"},
      {"\xc2\x9b", "\\x9b", "\\u009b"},                        // the one-character escape code
      {"\xe2\x80\xa8", "\\u2028", "\\u2028"},                  // line separator
      {"\xe2\x80\xae", "\\u202e", "\\u202e"},                  // right to left override
      {"\xff\xfe", "\\xff\\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},  // no UTF-8
      {"\xc0\x8a", "\\xc0\\x8a", "\xef\xbf\xbd\xef\xbf\xbd"},  // newline in two bytes
      {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // surrogate
      {"\xe2\x82", "\\xe2\\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                       // cut short
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(text_form(c.raw), c.text);
    EXPECT_EQ(json_form(c.raw), c.json);
  }
}

}  // namespace
}  // namespace atl::runtime
