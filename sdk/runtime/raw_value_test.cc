#include "atoll/runtime/raw_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

/// What the text reads as, with the elements of lists and tables.
std::string shown(const RawValue& value) {
  std::string out = found_text(value);
  if (const auto* array = std::get_if<RawValue::Array>(&value.data)) {
    for (const auto& element : *array) out += cat(" <", shown(element), ">");
  }
  if (value.table() != nullptr) {
    for (const auto& member : *value.table()) out += cat(" ", member.key, "=<", shown(member.value), ">");
  }
  return out;
}

std::string literal(std::string_view text) {
  auto value = parse_literal(text);
  return value ? shown(*value) : "none";
}

TEST(ParseLiteralTest, ReadsWhatOptionTablesUse) {
  EXPECT_EQ(literal("true"), "boolean true");
  EXPECT_EQ(literal("false"), "boolean false");
  EXPECT_EQ(literal(" -2 "), "integer -2");
  EXPECT_EQ(literal("9223372036854775807"), "integer 9223372036854775807");
  EXPECT_EQ(literal("0.5"), "float 0.5");
  EXPECT_EQ(literal("[]"), "array");
  EXPECT_EQ(literal("[ \"a, b\", 'c', ]"), "array <string \"a, b\"> <string \"c\">");
  EXPECT_EQ(literal("{}"), "table");
  EXPECT_EQ(literal("{ k = \"v\", 'a b'='' }"), "table k=<string \"v\"> a b=<string \"\">");
}

TEST(ParseLiteralTest, RefusesOtherTexts) {
  for (const char* text :
       {"",    " ",   "True",       "1 2",  "1x", "\"a\"", "[",    "[\"a\"",   "[\"a]", "[\"a\" \"b\"]",
        "[1]", "[,]", "[\"a\\n\"]", "[] x", "{",  "{k}",   "{k=}", "{=\"v\"}", "{k=1}", "{k=\"v\"]"}) {
    EXPECT_EQ(literal(text), "none") << text;
  }
}

TEST(FindTest, LooksInTablesOnly) {
  auto table = parse_literal("{ a = \"b\" }");
  ASSERT_TRUE(table.has_value());
  ASSERT_NE(table->find("a"), nullptr);
  EXPECT_EQ(found_text(table->find("a")->value), "string \"b\"");
  EXPECT_EQ(table->find("b"), nullptr);
  EXPECT_EQ(RawValue().find("a"), nullptr);
}

TEST(FoundTextTest, LongStringsAreCut) {
  RawValue value;
  value.data = std::string(100, 'x');
  EXPECT_EQ(found_text(value), cat("string \"", std::string(60, 'x'), "...\""));
}

}  // namespace
}  // namespace atl::runtime
