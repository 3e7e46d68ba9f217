#include "frontends/http/management/json_body.h"

#include <gtest/gtest.h>

namespace atl::frontends::http {
namespace {

Status parsed(std::string_view text) {
  JsonBody body;
  Status status = body.parse(text);
  EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument) << text;
  return status;
}

std::string nested(int depth) {
  std::string text = R"({"a":)";
  for (int i = 1; i < depth; ++i) text += "[";
  text += "0";
  for (int i = 1; i < depth; ++i) text += "]";
  return text + "}";
}

TEST(JsonBody, FindsMembers) {
  JsonBody body;
  ASSERT_TRUE(body.parse(R"({"a":1,"b":null})").ok());
  JsonElement value;
  EXPECT_TRUE(find_member(body.object(), "a", &value));
  EXPECT_TRUE(find_member(body.object(), "b", &value));
  EXPECT_TRUE(value.is_null());
  EXPECT_FALSE(find_member(body.object(), "c", &value));
}

TEST(JsonBody, OnlyAnOptionalBodyMayBeEmpty) {
  JsonBody body;
  EXPECT_TRUE(body.parse_optional("").ok());
  EXPECT_EQ(body.object().size(), 0u);
  EXPECT_EQ(parsed("").message(), "failed to parse the request JSON buffer: The document is empty. at 0");
}

TEST(JsonBody, RefusesWhatIsNoObject) {
  for (const char* text : {"[]", "1", "null", "\"x\"", "true"}) {
    EXPECT_EQ(parsed(text).message(), "attempt to access JSON non-object as object") << text;
  }
  EXPECT_EQ(parsed("{").message(),
            "failed to parse the request JSON buffer: Missing a name for object member. at 1");
  EXPECT_FALSE(parsed("{} {}").ok());
  EXPECT_FALSE(parsed("{\"a\":\"\xff\"}").ok());
}

TEST(JsonBody, RefusesAMemberThatIsThereTwice) {
  EXPECT_EQ(parsed(R"({"a":1,"b":2,"a":3})").message(),
            "the JSON object has the member 'a' twice, expected once");
  // The same name in another spelling.
  EXPECT_EQ(parsed(R"({"a":1,"\u0061":2})").message(),
            "the JSON object has the member 'a' twice, expected once");
}

TEST(JsonBody, LimitsTheDepth) {
  for (int depth : {1, 99, 100}) EXPECT_TRUE(parsed(nested(depth)).ok()) << depth;
  for (int depth : {101, 1000, 1'000'000}) {
    EXPECT_EQ(parsed(nested(depth)).message(), "JSON nesting depth exceeds maximum allowed limit (100)");
  }
}

}  // namespace
}  // namespace atl::frontends::http
