#include "atoll/runtime/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

TEST(LocationTextTest, OverridesHaveNoLine) {
  EXPECT_EQ(location_text({"a.toml", 3, 4}), "a.toml:3:4");
  EXPECT_EQ(location_text({"--set x", 0, 0}), "--set x");
}

TEST(ProblemsTest, AreToldTogetherAndBounded) {
  Problems problems;
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(problems.status().ok());
  problems.add({"m", 1, 2}, "found ", 5, "\n");
  EXPECT_EQ(problems.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(problems.status().text(), "m:1:2: found 5\\n");
  problems.add_line(std::string(600, 'x'));
  EXPECT_EQ(problems.status().text(), cat("m:1:2: found 5\\n\n", std::string(500, 'x'), "..."));
  for (int i = 0; i < 100; ++i) problems.add_line("y");
  EXPECT_THAT(problems.status().text(), testing::EndsWith("\ny\nand 2 more problems"));
}

TEST(ProblemsTest, StandInTheOrderOfTheFile) {
  Problems problems, more;
  problems.add({"--set x", 0, 0}, "last");
  problems.add({"m", 7, 2}, "b");
  more.add({"m", 7, 1}, "a");
  more.add({"m", 3, 9}, "first");
  problems.add_all(more);
  EXPECT_EQ(problems.status(Code::kFailedPrecondition).text(),
            "m:3:9: first\nm:7:1: a\nm:7:2: b\n--set x: last");
  EXPECT_EQ(problems.status(Code::kFailedPrecondition).code(), Code::kFailedPrecondition);
}

TEST(PrefixLinesTest, EachLineHasIt) {
  EXPECT_EQ(prefix_lines("p: ", "a\nb"), "p: a\np: b");
  EXPECT_EQ(prefix_lines("p: ", ""), "p: ");
}

TEST(SuggestionTest, OnlyNearWords) {
  const std::string_view known[] = {"address", "use"};
  EXPECT_EQ(suggestion("adress", known), ", did you mean 'address'?");
  EXPECT_EQ(suggestion("xy", known), "");
  EXPECT_EQ(suggestion("completely else", known), "");
  EXPECT_EQ(suggestion(std::string(10'000, 'a'), known), "");
}

TEST(SuggestionTest, WhatWasCutShortAndWhatBeginsAlike) {
  const std::string_view known[] = {"python", "onnxruntime", "TYPE_UINT32", "TYPE_FP32"};
  EXPECT_EQ(suggestion("onnx", known), ", did you mean 'onnxruntime'?");
  const std::string_view sections[] = {"atoll", "log", "plugin"};
  EXPECT_EQ(suggestion("loging", sections), ", did you mean 'log'?");
  EXPECT_EQ(suggestion("plugins", sections), ", did you mean 'plugin'?");
  EXPECT_EQ(suggestion("logistics", sections), "");
  EXPECT_EQ(suggestion("TYPE_FLOAT32", known), ", did you mean 'TYPE_FP32'?");
}

TEST(ProblemsTest, TheLimitIsToldOfQuantitiesThatAreTooLargeOnly) {
  for (const char* text : {"2562048h", "9223372036854775808ns", "99999999999999999999s"})
    EXPECT_EQ(duration_limit_text(text), ", at most 2562047h") << text;
  for (const char* text : {"", "s", "5", "99999999999999999999", "-5s", "1.5s", "5d", "2562047h"})
    EXPECT_EQ(duration_limit_text(text), "") << text;
  for (const char* text : {"16777216TiB", "18446744073709551616", "99999999999999999999B"})
    EXPECT_EQ(bytes_limit_text(text), ", at most 16777215TiB") << text;
  for (const char* text : {"", "TiB", "-1", "1KB", "16777215TiB"})
    EXPECT_EQ(bytes_limit_text(text), "") << text;
}

TEST(ProblemsTest, AnOverrideNamesItsKeyOnce) {
  Problems problems;
  problems.add({"--set a.b", 0, 0}, "a.b", ": found 1");
  problems.add({"--set a.b", 0, 0}, "a.bc", ": found 1");
  problems.add({"a.b", 0, 0}, "a.b", ": is a file");
  EXPECT_EQ(problems.status().text(), "--set a.b: found 1\n--set a.b: a.bc: found 1\na.b: a.b: is a file");
}

}  // namespace
}  // namespace atl::runtime
