#include "atoll/runtime/value_text.h"

#include <gtest/gtest.h>

#include "atoll/core/moved_option.h"
#include "atoll/core/option_table.h"

namespace atl::runtime {
namespace {

std::string text_of(atoll_option_type type, const char* value) {
  return value_text(*parse_typed_value(type, value));
}

TEST(ValueText, IsWhatAManifestCouldHave) {
  EXPECT_EQ(text_of(ATOLL_OPTION_BOOL, "true"), "true");
  EXPECT_EQ(text_of(ATOLL_OPTION_INT, "-7"), "-7");
  EXPECT_EQ(text_of(ATOLL_OPTION_FLOAT, "0.5"), "0.5");
  EXPECT_EQ(text_of(ATOLL_OPTION_DURATION, "90s"), "\"90s\"");
  EXPECT_EQ(text_of(ATOLL_OPTION_DURATION, "7200s"), "\"2h\"");
  EXPECT_EQ(text_of(ATOLL_OPTION_DURATION, "0ms"), "\"0s\"");
  EXPECT_EQ(text_of(ATOLL_OPTION_BYTES, "65536KiB"), "\"64MiB\"");
  EXPECT_EQ(text_of(ATOLL_OPTION_BYTES, "1000"), "\"1000B\"");
  EXPECT_EQ(text_of(ATOLL_OPTION_BYTES, "0"), "0");
  EXPECT_EQ(text_of(ATOLL_OPTION_STRING_LIST, "[\"a\", 'b']"), "[\"a\", \"b\"]");
  EXPECT_EQ(text_of(ATOLL_OPTION_STRING_LIST, "[]"), "[]");
  EXPECT_EQ(text_of(ATOLL_OPTION_STRING_MAP, "{ a = \"b\", 'c d' = \"e\" }"),
            "{ a = \"b\", \"c d\" = \"e\" }");
}

TEST(ValueText, KeepsTextsOnOneLine) {
  EXPECT_EQ(value_text({ATOLL_OPTION_STRING, std::string("a\"\\\n\x01\x7f é")}),
            "\"a\\\"\\\\\\u000A\\u0001\\u007F é\"");
}

TEST(ValueText, HidesMembersThatAreSecrets) {
  EXPECT_EQ(text_of(ATOLL_OPTION_STRING_MAP, "{ host = \"h\", password = \"p\" }"),
            "{ host = \"h\", password = \"***\" }");
}

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name : {"password", "redis_password", "token", "S3-Secret.Key", "restricted_apis"})
    EXPECT_TRUE(names_secret(name)) << name;
  for (const char* name :
       {"token_file", "tokens", "key_prefix", "passwords_path", "secret_header", "", "___"})
    EXPECT_FALSE(names_secret(name)) << name;
}

TEST(Secrets, AreKnownByTheirRows) {
  constexpr OptionTable kTable{option_secret(option_string("word").help("h")),
                               option_string("token").help("h"), option_bool("password", false).help("h"),
                               option_string("secret", "on").choices("on|off").help("h"),
                               option_string("word2").help("h")};
  std::vector<bool> found;
  for (const atoll_option_v1& row : kTable) found.push_back(is_secret(row));
  EXPECT_EQ(found, std::vector<bool>({true, true, false, false, false}));
}

}  // namespace
}  // namespace atl::runtime
