#include "atoll/lib/toml.h"

#include <gtest/gtest.h>

namespace atl::lib {
namespace {

std::string problems(std::string_view text) {
  Problems found;
  EXPECT_FALSE(parse_toml(text, "f.toml", found).has_value()) << text;
  return std::string(found.status().message());
}

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out.append(text);
  return out;
}

/// "1:2" of the value, or what is wrong.
std::string place(const RawValue::Member* member) {
  return member == nullptr ? "no member" : location_text(member->value.where);
}

TEST(TomlTest, ValuesHaveTheirTypesAndPlaces) {
  Problems found;
  const auto root = parse_toml(
      "whole = -7\nhalf = 0.5\n yes = true\nword = \"a\\nb\"\nday = 2024-02-29\nlist = [1,\n 'x']\n"
      "[table]\nkey . dotted = { inner = 1 }\n[[row]]\na = 1\n[[row]]\n",
      "f.toml", found);
  ASSERT_TRUE(root.has_value()) << found.status().text();
  EXPECT_EQ(std::get<int64_t>(root->find("whole")->value.data), -7);
  EXPECT_EQ(std::get<double>(root->find("half")->value.data), 0.5);
  EXPECT_TRUE(std::get<bool>(root->find("yes")->value.data));
  EXPECT_EQ(std::get<std::string>(root->find("word")->value.data), "a\nb");
  EXPECT_EQ(std::get<RawValue::Time>(root->find("day")->value.data).text, "2024-02-29");
  const auto& list = std::get<RawValue::Array>(root->find("list")->value.data);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(location_text(list[1].where), "f.toml:7:2");
  EXPECT_EQ(location_text(root->find("yes")->where), "f.toml:3:2");
  EXPECT_EQ(place(root->find("yes")), "f.toml:3:8");
  EXPECT_EQ(place(root->find("table")), "f.toml:8:1");
  const RawValue::Member* dotted = root->find("table")->value.find("key")->value.find("dotted");
  ASSERT_NE(dotted, nullptr);
  EXPECT_EQ(place(dotted->value.find("inner")), "f.toml:9:26");
  const auto& rows = std::get<RawValue::Array>(root->find("row")->value.data);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(location_text(rows[1].where), "f.toml:12:1");
  std::string keys;
  for (const auto& member : *root->table()) keys += member.key + " ";
  EXPECT_EQ(keys, "whole half yes word day list table row ") << "in the order of the text";
}

TEST(TomlTest, SyntaxErrorsAreOneLineWithTheirPlace) {
  EXPECT_EQ(problems("\n\na = 1 2\n"), "f.toml:3:7: invalid line format, expected newline, but got '2'");
  EXPECT_EQ(problems("a = 1\n\na = 2\n"),
            "f.toml:3:5: value (\"a\") already exists, value defined twice (see line 1)");
  EXPECT_EQ(problems("a = 0x\n"), "f.toml:1:5: invalid value, the next token is not an integer");
}

/// Without the library's own words, which differ from version to version.
TEST(TomlTest, QuotesAndBracketsThatWereLeftOutAreNamed) {
  const auto hint = [](const std::string& text) {
    const std::string told = problems(text);
    const size_t at = told.find("; ");
    return at == std::string::npos ? std::string() : told.substr(at);
  };
  EXPECT_EQ(hint("[a]\ntimeout = 8s\nb = 1\n"), "; texts are in quotes: \"8s\"");
  EXPECT_EQ(hint("level = info # loud"), "; texts are in quotes: \"info\"");
  EXPECT_EQ(hint("address = 127.0.0.1:8000\n"), "; texts are in quotes: \"127.0.0.1:8000\"");
  EXPECT_EQ(hint("address = localhost:8000\n"), "; texts are in quotes: \"localhost:8000\"");
  EXPECT_EQ(hint("paths = [/srv/models, \"b\"]\n"), "; texts are in quotes: \"/srv/models\"");
  EXPECT_EQ(hint("[log\nlevel = \"info\"\n"), "; the ']' is missing");
  EXPECT_EQ(hint("\n\na = 1 2\n"), "");
  EXPECT_EQ(hint("a = 0x\n"), "");
  EXPECT_EQ(hint("a = \"x\n"), "");
}

TEST(TomlTest, NumbersThatDoNotFitAreToldTogether) {
  EXPECT_EQ(problems("a = 9223372036854775808\nb = 1e999\n"),
            "f.toml:1:5: found number 9223372036854775808, expected one that fits in 64 bits\n"
            "f.toml:2:5: found number 1e999, expected one that fits in 64 bits");
  Problems found;
  EXPECT_TRUE(
      parse_toml("a = 9223372036854775807\nb = 0x7fffffffffffffff\nc = inf\n", "f.toml", found).has_value());
}

TEST(TomlTest, EncodingIsCheckedFirst) {
  EXPECT_EQ(problems("a = 1\nb = \"\xff\""),
            "f.toml:2:6: found a byte that is not UTF-8, expected TOML in UTF-8");
  EXPECT_EQ(problems(std::string_view("a\0=1", 4)), "f.toml:1:2: found a NUL byte, expected TOML in UTF-8");
}

TEST(TomlTest, NestingIsLimited) {
  constexpr char kTooDeep[] = "found nesting deeper than 64 levels, expected at most that many";
  EXPECT_EQ(problems("a = " + repeat("[", 100'000)), cat("f.toml:1:69: ", kTooDeep));
  EXPECT_EQ(problems("\na" + repeat(".a", 100'000) + " = 1"), cat("f.toml:2:130: ", kTooDeep));
  EXPECT_EQ(problems("a = {a" + repeat(".a", 100'000) + " = 1"), cat("f.toml:1:133: ", kTooDeep));
  Problems found;
  EXPECT_TRUE(parse_toml("a = " + repeat("[", 64) + repeat("]", 64), "f.toml", found).has_value());
  EXPECT_TRUE(
      parse_toml("a = '" + repeat("[", 100) + "' # " + repeat("[", 100), "f.toml", found).has_value());
}

TEST(TomlTest, SizesAreLimited) {
  constexpr char kTooLong[] =
      "found an array or inline table of more than 4096 elements or 64 KiB, expected at most that much";
  EXPECT_EQ(problems("a = [" + repeat("1,", 4096) + "1]"), cat("f.toml:1:8198: ", kTooLong));
  EXPECT_EQ(problems("a = ['" + repeat("x", 70'000) + "']"), cat("f.toml:1:70008: ", kTooLong));
  EXPECT_EQ(problems(repeat("#", kTomlBytesMax + 1)),
            "f.toml: found more than 1 MiB of text, expected at most that much");
}

TEST(TomlTest, OneValueIsNoDocument) {
  const SourceLocation where{"--set a", 0, 0};
  const auto list = parse_toml_value("[1, 2]", where);
  ASSERT_TRUE(list.has_value());
  const auto& elements = std::get<RawValue::Array>(list->data);
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(location_text(elements[1].where), "--set a");
  for (const char* text : {"", "1 # x", "1\nw=2", "word", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_toml_value(text, where).has_value()) << text;
  }
}

}  // namespace
}  // namespace atl::lib
