// What is JSON for us, and what is said about what is not.
#include "frontends/http/codec/json_document.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

struct Parsed {
  explicit Parsed(std::string_view bytes) : text(bytes) { status = document.parse(text.text()); }
  JsonElement at(const char* pointer) {
    JsonElement found;
    EXPECT_EQ(document.root().at_pointer(pointer).get(found), simdjson::SUCCESS) << pointer;
    return found;
  }
  double number(const char* pointer) {
    double number = -7;
    EXPECT_TRUE(document.number(at(pointer), &number)) << pointer;
    return number;
  }
  PaddedText text;
  JsonDocument document;
  Status status;
};

void expect_malformed(std::string_view bytes, std::string_view message) {
  Parsed parsed(bytes);
  EXPECT_EQ(parsed.status.code(), Code::kInvalidArgument) << bytes;
  EXPECT_EQ(parsed.status.message(), message) << bytes;
}

TEST(JsonDocument, MalformedTextsHaveTheProtocolsReason) {
  const std::string prefix = "failed to parse the request JSON buffer: ";
  expect_malformed("", prefix + "The document is empty. at 0");
  expect_malformed("  \n\t ", prefix + "The document is empty. at 5");
  expect_malformed("{", prefix + "Missing a name for object member. at 1");
  expect_malformed("{1:2}", prefix + "Missing a name for object member. at 1");
  expect_malformed("{\"a\" 1}", prefix + "Missing a colon after a name of object member. at 5");
  expect_malformed("{\"a\":1", prefix + "Missing a comma or '}' after an object member. at 6");
  expect_malformed("[1 2]", prefix + "Missing a comma or ']' after an array element. at 3");
  expect_malformed("[1,]", prefix + "Invalid value. at 3");
  expect_malformed("{\"a\":tru}", prefix + "Invalid value. at 8");
  expect_malformed("\"open", prefix + "Missing a closing quotation mark in string. at 5");
  expect_malformed("\"\\x\"", prefix + "Invalid escape character in string. at 1");
  expect_malformed("{} {}", prefix + "The document root must not be followed by other values. at 3");
  expect_malformed("[1e400]", prefix + "Number too big to be stored in double. at 1");
  expect_malformed("[01]", prefix + "Missing a comma or ']' after an array element. at 2");
  expect_malformed("[\"\xff\"]", prefix + "Invalid encoding in string. at 2");
  expect_malformed("[\"\\ud800\"]", prefix + "The surrogate pair in string is invalid. at 2");
  expect_malformed("[\"\\ud800\\u0041\"]", prefix + "The surrogate pair in string is invalid. at 2");
  // What RapidJSON takes and we do not.
  expect_malformed("[\"\\udc00\"]", prefix + "Invalid value or encoding.");
  expect_malformed(std::string_view("[1]\0", 4), prefix + "Invalid value or encoding.");
}

TEST(JsonDocument, RootMayBeAnything) {
  for (const char* text : {"null", "true", "1", "-1.5", "\"x\"", "[]", "{}", "18446744073709551615"}) {
    EXPECT_TRUE(Parsed(text).status.ok()) << text;
  }
}

TEST(JsonDocument, NestingIsLimited) {
  const auto nested = [](size_t depth, std::string_view inner) {
    return cat(std::string(depth, '['), inner, std::string(depth, ']'));
  };
  EXPECT_TRUE(Parsed(nested(kMaxJsonDepth - 1, "1")).status.ok());
  EXPECT_TRUE(Parsed(nested(kMaxJsonDepth, "1")).status.ok());
  EXPECT_TRUE(Parsed(nested(kMaxJsonDepth, "NaN")).status.ok());
  const std::string too_deep = "JSON nesting depth exceeds maximum allowed limit (100)";
  expect_malformed(nested(kMaxJsonDepth + 1, "1"), too_deep);
  expect_malformed(nested(kMaxJsonDepth + 1, "NaN"), too_deep);
  expect_malformed(std::string(250'000, '['), too_deep);
  std::string objects;
  for (int i = 0; i < 250'000; ++i) objects += "{\"a\":";
  expect_malformed(objects, too_deep);
}

TEST(JsonDocument, LiteralsAreNumbers) {
  Parsed parsed(R"({"a":[NaN, Infinity,-Infinity,Inf,-Inf , 1.5],"b":{"c":NaN},"d":"NaN"})");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.text();
  EXPECT_TRUE(std::isnan(parsed.number("/a/0")));
  EXPECT_EQ(parsed.number("/a/1"), INFINITY);
  EXPECT_EQ(parsed.number("/a/2"), -INFINITY);
  EXPECT_EQ(parsed.number("/a/3"), INFINITY);
  EXPECT_EQ(parsed.number("/a/4"), -INFINITY);
  EXPECT_EQ(parsed.number("/a/5"), 1.5);
  EXPECT_TRUE(std::isnan(parsed.number("/b/c")));
  double number = 0;
  EXPECT_FALSE(parsed.document.number(parsed.at("/d"), &number));
  EXPECT_EQ(parsed.at("/d").get_string().value_unsafe(), "NaN");

  Parsed root("-Infinity");
  ASSERT_TRUE(root.status.ok());
  EXPECT_EQ(root.number(""), -INFINITY);
}

TEST(JsonDocument, WhatStandsForALiteralIsNoneInOtherTexts) {
  double number = 0;
  Parsed parsed(R"([{"\u0001N":0},{"\u0001+":0}])");
  ASSERT_TRUE(parsed.status.ok());
  EXPECT_FALSE(parsed.document.number(parsed.at("/0"), &number));
  EXPECT_EQ(parsed.document.long_array(parsed.at("/0")), nullptr);
  // Nor are other objects in texts that have literals, and those that could be taken for one are refused
  // there.
  Parsed literal(R"([NaN,{},{"a":0},{"":0,"+":1},{"NaN":0},{"":1},{"+":0}])");
  ASSERT_TRUE(literal.status.ok());
  for (const char* at : {"/1", "/2", "/3", "/4", "/5", "/6"}) {
    EXPECT_FALSE(literal.document.number(literal.at(at), &number)) << at;
  }
  expect_malformed(
      R"([NaN,{"\u0001N":0}])",
      "failed to parse the request JSON buffer: a member's name begins with the character U+0001 at 15");
}

TEST(JsonDocument, MisspelledLiteralsAreRefused) {
  for (const char* text :
       {"[nan]", "[NAN]", "[Na]", "[Infinit]", "[+Infinity]", "[NaNN]", "[InfinityX]", "[--Inf]"}) {
    EXPECT_EQ(Parsed(text).status.code(), Code::kInvalidArgument) << text;
  }
}

TEST(JsonDocument, LongIntegersAreDoubles) {
  Parsed parsed(
      "[100000000000000000000,-9223372036854775809,18446744073709551616,18446744073709551615,"
      "-9223372036854775808,1e25,7]");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.text();
  EXPECT_EQ(parsed.number("/0"), 1e20);
  EXPECT_EQ(parsed.number("/1"), -9223372036854775808.0);
  EXPECT_EQ(parsed.number("/2"), 18446744073709551616.0);
  EXPECT_TRUE(parsed.at("/0").is_double());
  EXPECT_EQ(parsed.at("/3").get_uint64().value_unsafe(), UINT64_MAX);
  EXPECT_EQ(parsed.at("/4").get_int64().value_unsafe(), INT64_MIN);
  EXPECT_EQ(parsed.number("/5"), 1e25);
  EXPECT_EQ(parsed.at("/6").get_int64().value_unsafe(), 7);
  EXPECT_FALSE(Parsed(std::string(400, '9')).status.ok());
}

TEST(JsonDocument, ByteOrderMarkIsSkipped) {
  EXPECT_TRUE(Parsed("\xEF\xBB\xBF{}").status.ok());
  EXPECT_FALSE(Parsed("\xEF\xBB{}").status.ok());
}

TEST(JsonDocument, IsReusedAfterEveryOutcome) {
  JsonDocument document;
  for (const char* text : {"[1]", "[NaN]", "[[", "[2]", "[100000000000000000000]", "", "[3]"}) {
    PaddedText padded(text);
    (void)document.parse(padded.text()).ok();
  }
  int64_t value = 0;
  ASSERT_EQ(document.root().at(0).get_int64().get(value), simdjson::SUCCESS);
  EXPECT_EQ(value, 3);
  // The depth of the rewritten text does not stay.
  PaddedText deep(cat(std::string(101, '['), "1", std::string(101, ']')));
  EXPECT_FALSE(document.parse(deep.text()).ok());
}

TEST(JsonDocument, UnpaddedTextsAreCopied) {
  JsonDocument document;
  for (size_t size : {0u, 1u, 63u, 64u, 65u, 5000u}) {
    auto exact = std::make_unique<char[]>(size + 2);
    exact[0] = '[';
    std::memset(exact.get() + 1, ' ', size);
    exact[size + 1] = ']';
    EXPECT_TRUE(document.parse_unpadded({exact.get(), size + 2}).ok()) << size;
  }
  EXPECT_FALSE(document.parse_unpadded({}).ok());
  EXPECT_FALSE(document.parse({}).ok());
}

TEST(JsonDocument, LargeTextsAreParsedAndLetGo) {
  JsonDocument document;
  std::string text = "[";
  while (text.size() < (size_t{3} << 20)) text += "1234.5,";
  text += "NaN]";
  for (int i = 0; i < 3; ++i) {
    PaddedText padded(text);
    ASSERT_TRUE(document.parse(padded.text()).ok());
    document.release();
    PaddedText small("[1]");
    ASSERT_TRUE(document.parse(small.text()).ok());
  }
}

TEST(JsonDocument, WhiteSpaceTakesLinearTime) {
  std::string text(60'000'000, ' ');
  EXPECT_FALSE(Parsed(text).status.ok());
  text += "{}";
  EXPECT_TRUE(Parsed(text).status.ok());
}

}  // namespace
}  // namespace atl::frontends::http
