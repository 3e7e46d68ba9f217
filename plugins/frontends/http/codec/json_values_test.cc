#include "frontends/http/codec/json_values.h"

#include <gtest/gtest.h>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

class JsonValues : public ::testing::Test {
 protected:
  JsonElement value(std::string_view text) {
    EXPECT_TRUE(document_.parse_unpadded(text).ok()) << text;
    return document_.root();
  }
  JsonDocument document_;
};

template <class T, class Read>
void expect_text(Read read, JsonElement value, T out, std::string_view message) {
  const T before = out;
  const Status status = read("x", value, &out);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
  if constexpr (requires { out == before; }) {
    EXPECT_EQ(out, before);
  }
}

TEST_F(JsonValues, WrongTypesHaveTheProtocolsTexts) {
  expect_text(read_bool, value("1"), true,
              "Unable to parse 'x': attempt to access JSON non-boolean as boolean");
  expect_text(read_uint, value("-1"), uint64_t{7},
              "Unable to parse 'x': attempt to access JSON non-unsigned-integer as unsigned-integer");
  expect_text(read_uint, value("\"1\""), uint64_t{7},
              "Unable to parse 'x': attempt to access JSON non-unsigned-integer as unsigned-integer");
  expect_text(read_string, value("null"), std::string_view("y"),
              "Unable to parse 'x': attempt to access JSON non-string as string");
  expect_text(read_array, value("{}"), JsonArray(),
              "Unable to parse 'x': attempt to access JSON non-array as array");
  expect_text(read_object, value("[]"), JsonObject(),
              "Unable to parse 'x': attempt to access JSON non-object as object");
  EXPECT_EQ(wrong_kind("x", JsonKind::kInt).message(),
            "Unable to parse 'x': attempt to access JSON non-signed-integer as signed-integer");
  EXPECT_EQ(wrong_kind("x", JsonKind::kNumber).message(),
            "Unable to parse 'x': attempt to access JSON non-number as double");
  EXPECT_EQ(missing_member("x").message(),
            "Unable to parse 'x': attempt to access non-existing object member 'x'");
}

TEST_F(JsonValues, ValuesAreRead) {
  bool flag = false;
  uint64_t large = 0;
  std::string_view text;
  EXPECT_TRUE(read_bool("x", value("true"), &flag).ok());
  EXPECT_TRUE(flag);
  EXPECT_TRUE(read_uint("x", value("18446744073709551615"), &large).ok());
  EXPECT_EQ(large, UINT64_MAX);
  EXPECT_TRUE(read_string("x", value("\"a\\u0000\\ud83d\\ude00\""), &text).ok());
  EXPECT_EQ(text, std::string_view("a\0\xF0\x9F\x98\x80", 6));
}

TEST_F(JsonValues, MembersAreFoundInAnyOrder) {
  JsonObject object;
  ASSERT_TRUE(read_object("x", value(R"({"other":{"a":1},"b":2,"other":3,"a":4})"), &object).ok());
  JsonMember members[] = {{"a"}, {"b"}, {"c"}};
  ASSERT_TRUE(find_members(object, members).ok());
  EXPECT_TRUE(members[0].present);
  EXPECT_EQ(members[0].value.get_int64().value_unsafe(), 4);
  EXPECT_TRUE(members[1].present);
  EXPECT_FALSE(members[2].present);
}

TEST_F(JsonValues, AMemberThereTwiceIsRefused) {
  JsonObject object;
  ASSERT_TRUE(read_object("x", value(R"({"a":1,"b":2,"a":1})"), &object).ok());
  JsonMember members[] = {{"a"}};
  const Status status = find_members(object, members);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "the JSON object has the member 'a' twice, expected once");
}

}  // namespace
}  // namespace atl::frontends::http
