#include "values.h"

#include <gtest/gtest.h>

namespace atl::tritonserver {
namespace {

TEST(Values, Booleans) {
  for (const char* text : {"true", "TRUE", "On", "1"}) EXPECT_TRUE(parse_bool(text).value()) << text;
  for (const char* text : {"false", "FALSE", "oFF", "0"}) EXPECT_FALSE(parse_bool(text).value()) << text;
  for (const char* text : {"", "yes", "2", "true "}) {
    EXPECT_EQ(parse_bool(text).status().text(), cat("invalid value for bool option: found '", text,
                                                    "', expected one of: true, on, 1, false, off, 0"));
  }
}

std::string integer(std::string_view text) {
  auto value = parse_integer(text);
  return value.ok() ? cat(*value) : value.status().text();
}

TEST(Values, ALeadingNumberIsEnough) {
  EXPECT_EQ(integer("5"), "5");
  EXPECT_EQ(integer("5x"), "5");
  EXPECT_EQ(integer(" -7.9"), "-7");
  EXPECT_EQ(integer("+3"), "3");
  EXPECT_EQ(integer("x5"), "Invalid option value. Got x5");
  EXPECT_EQ(integer(""), "Invalid option value. Got ");
  EXPECT_EQ(integer("2147483647"), "2147483647");
  EXPECT_EQ(integer("2147483648"), "Provided option value is out of bound. Got 2147483648");
  EXPECT_EQ(integer("-99999999999999999999"),
            "Provided option value is out of bound. Got -99999999999999999999");
}

TEST(Values, Numbers) {
  EXPECT_EQ(parse_number("0.5").value(), 0.5);
  EXPECT_EQ(parse_number("7.5x").value(), 7.5);
  EXPECT_EQ(parse_number("x").status().text(), "Invalid option value. Got x");
  EXPECT_EQ(parse_number("1e999").status().text(), "Provided option value is out of bound. Got 1e999");
  EXPECT_EQ(parse_number("nan").status().text(), "Provided option value is out of bound. Got nan");
}

std::string setting(std::string_view text) {
  auto setting = parse_setting(text, "host-policy", "policy name");
  if (!setting.ok()) return setting.status().text();
  return cat(setting->scoped, "|", setting->scope, "|", setting->name, "|", setting->value);
}

TEST(Values, Settings) {
  EXPECT_EQ(setting("a,b=c"), "true|a|b|c");
  EXPECT_EQ(setting("b=c,d=e"), "false||b|c,d=e");
  EXPECT_EQ(setting(",b=c"), "true||b|c");
  for (const char* text : {"", "a", "a,b", "=c", "a,=c", "b="}) {
    EXPECT_EQ(setting(text),
              cat("--host-policy option format is '<policy name>,<setting>=<value>'. Got ", text));
  }
}

TEST(Values, Pairs) {
  EXPECT_EQ(parse_pair("0:64").value().second, "64");
  for (const char* text : {"", "0", "0:1:2"}) {
    EXPECT_EQ(parse_pair(text).status().text(),
              cat("Cannot parse pair option due to incorrect number of inputs.--<pair option> argument "
                  "requires format <first>:<second>. Found: ",
                  text));
  }
}

}  // namespace
}  // namespace atl::tritonserver
