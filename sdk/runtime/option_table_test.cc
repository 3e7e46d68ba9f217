#include "atoll/runtime/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

constexpr atoll_option_v1 kTable[] = {
    {"flag", ATOLL_OPTION_BOOL, 0, "true", nullptr, nullptr, nullptr, "A flag."},
    {"count", ATOLL_OPTION_INT, 0, "3", "-2", "10", nullptr, "A number."},
    {"ratio", ATOLL_OPTION_FLOAT, 0, "0.5", "0", nullptr, nullptr, "A ratio."},
    {"address", ATOLL_OPTION_STRING, 0, "127.0.0.1:0", nullptr, nullptr, nullptr, "Where."},
    {"mode", ATOLL_OPTION_STRING, 0, "fast", nullptr, nullptr, "fast|slow", "How."},
    {"timeout", ATOLL_OPTION_DURATION, 0, "30s", nullptr, "1h", nullptr, "How long."},
    {"message_bytes_max", ATOLL_OPTION_BYTES, 0, "64MiB", "4KiB", "2GiB", nullptr, "How large."},
    {"paths", ATOLL_OPTION_STRING_LIST, 0, "[\"a\", \"b\"]", nullptr, nullptr, nullptr, "Which."},
    {"labels", ATOLL_OPTION_STRING_MAP, 0, "{ k = \"v\" }", nullptr, nullptr, nullptr, "What."},
    {"unset", ATOLL_OPTION_INT, 0, nullptr, nullptr, nullptr, nullptr, "No default."},
};

TEST(CheckOptionTableTest, RefusesDefectiveTables) {
  struct Case {
    atoll_option_v1 row;
    const char* problem;
  };
  const Case kCases[] = {
      {{nullptr, 0, 0, nullptr, nullptr, nullptr, nullptr, "x"},
       "option 0: has key '', expected [a-z0-9_]{1,64}"},
      {{"A-b", 0, 0, nullptr, nullptr, nullptr, nullptr, "x"},
       "option 0: has key 'A-b', expected [a-z0-9_]{1,64}"},
      {{"a", 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr}, "option 'a' has no help"},
      {{"a", 8, 0, nullptr, nullptr, nullptr, nullptr, "x"}, "option 'a' has type 8, expected 0..7"},
      {{"use", 0, 0, nullptr, nullptr, nullptr, nullptr, "x"}, "option 'use': this key is the kernel's own"},
      {{"a", 1, 0, "x", nullptr, nullptr, nullptr, "x"}, "option 'a' has default 'x', expected integer"},
      {{"a", 1, 0, "5", "6", nullptr, nullptr, "x"},
       "option 'a' has default '5', expected integer, at least 6"},
      {{"a", 4, 0, "5", nullptr, nullptr, nullptr, "x"},
       "option 'a' has default '5', expected duration (\"250ms\")"},
      {{"a", 5, 0, nullptr, "x", nullptr, nullptr, "x"}, "option 'a' has bound 'x', expected bytes"},
      {{"a", 3, 0, nullptr, nullptr, "x", nullptr, "x"},
       "option 'a' has a range, expected one on numbers only"},
      {{"a", 1, 0, nullptr, nullptr, nullptr, "x", "x"},
       "option 'a' has choices, expected them on strings only"},
      {{"a", 3, 0, "z", nullptr, nullptr, "x|y", "x"}, "option 'a' has default 'z', expected one of x|y"},
      {{"a", 1, ATOLL_OPTION_REQUIRED, "1", nullptr, nullptr, nullptr, "x"},
       "option 'a' is required and has a default"},
  };
  for (const auto& c : kCases) EXPECT_EQ(check_option_table({&c.row, 1}).text(), c.problem);
  EXPECT_TRUE(check_option_table(kTable).ok());
  const atoll_option_v1 twice[] = {kTable[0], kTable[0]};
  EXPECT_EQ(check_option_table(twice).text(), "option 'flag' is in the table twice");
}

TEST(ReservedOptionsTest, AreTheManifestsOwn) {
  std::vector<std::string> keys;
  for (const auto& row : reserved_options()) keys.push_back(row.key);
  EXPECT_THAT(keys, testing::ElementsAre("use", "enabled", "file", "needs"));
}

}  // namespace
}  // namespace atl::runtime
