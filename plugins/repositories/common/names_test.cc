#include "repositories/common/names.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::filesystem {
namespace {

TEST(ParseVersion, TakesCanonicalPositiveNumbersOnly) {
  EXPECT_EQ(parse_version("1"), 1);
  EXPECT_EQ(parse_version("10"), 10);
  EXPECT_EQ(parse_version("2147483648"), 2147483648);
  EXPECT_EQ(parse_version("9223372036854775807"), INT64_MAX);
  for (const char* name : {"", "0", "00", "01", "-1", "+1", " 1", "1 ", "1a", ".1", "1.0", "0x1", "1e3", "a",
                           "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_EQ(parse_version(name), std::nullopt) << name;
  }
}

TEST(ParseVersion, RefusalSaysWhy) {
  EXPECT_EQ(version_refusal("01"), "its name has a leading zero");
  EXPECT_EQ(version_refusal("0"), "versions begin at 1");
  EXPECT_EQ(version_refusal("1a"), "its name is not a number");
  EXPECT_EQ(version_refusal("9223372036854775808"), "its number is greater than 9223372036854775807");
}

TEST(ModelName, RefusesWhatCouldClimb) {
  for (const char* name :
       {"..", ".", "../etc", "a/../b", "/etc/passwd", "model/sub", "model/", " ..", ".. ", "/"}) {
    Status status = check_model_name(name);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(status.message(), "invalid model name '" + std::string(name) +
                                    "', model name must not contain path traversal characters");
  }
}

TEST(ModelName, RefusesBlanksNulLengthAndBadBytes) {
  for (const char* name : {"", " ", "\t\n"}) {
    EXPECT_EQ(check_model_name(name).message(),
              "Model name cannot be empty. Please enter a valid name to deploy.");
  }
  EXPECT_EQ(check_model_name(std::string_view("a\0b", 3)).message(),
            "invalid model name: it contains a NUL byte");
  EXPECT_TRUE(check_model_name(std::string(255, 'a')).ok());
  EXPECT_EQ(check_model_name(std::string(256, 'a')).message(),
            "invalid model name: it has 256 bytes, expected at most 255");
  EXPECT_EQ(check_model_name("\xff").message(), "invalid model name: it is not valid UTF-8");
  EXPECT_EQ(check_model_name(".git").code(), Code::kNotFound);
}

TEST(ModelName, TakesAnyOtherDirectoryName) {
  for (const char* name :
       {"m", "resnet-50", "a..b", "na me", "100%", "\"quoted\"", "line\nbreak", "mod\xc3\xa8le"}) {
    EXPECT_TRUE(check_model_name(name).ok()) << name;
  }
}

}  // namespace
}  // namespace atl::filesystem
