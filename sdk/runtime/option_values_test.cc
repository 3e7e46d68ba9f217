#include "atoll/runtime/option_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/core/moved_option.h"
#include "atoll/core/option_table.h"
#include "atoll/runtime/option_table.h"

namespace atl::runtime {
namespace {

constexpr atoll_option_v1 kReadTable[] = {
    {"flag", ATOLL_OPTION_BOOL, 0, "true", nullptr, nullptr, nullptr, "A flag."},
    {"count", ATOLL_OPTION_INT, 0, "3", "-2", "10", nullptr, "A number."},
    {"mode", ATOLL_OPTION_STRING, 0, "fast", nullptr, nullptr, "fast|slow", "How."},
    {"rate", ATOLL_OPTION_STRING, ATOLL_OPTION_MOVED, nullptr, nullptr, nullptr, nullptr, "role/other"},
    {"paths", ATOLL_OPTION_STRING_LIST, ATOLL_OPTION_REQUIRED, nullptr, nullptr, nullptr, nullptr, "Which."},
    {"wait", ATOLL_OPTION_DURATION, 0, "1s", nullptr, nullptr, nullptr, "How long."},
    {"size", ATOLL_OPTION_BYTES, 0, "1", nullptr, "1GiB", nullptr, "How large."},
};

RawValue::Member member(std::string key, std::string_view literal) {
  auto value = parse_literal(literal);
  EXPECT_TRUE(value.has_value()) << literal;
  value->where = {"m", 1, 9};
  return {std::move(key), {"m", 1, 1}, std::move(*value)};
}

RawValue::Member text(std::string key, std::string value) {
  return {std::move(key), {"m", 1, 1}, RawValue{std::move(value), {"m", 1, 9}}};
}

std::string problems_of(const RawValue::Table& options) {
  Problems problems;
  (void)read_options("plugin.a", {"m", 8, 1}, options, kReadTable, reserved_options(), problems);
  return problems.status().text();
}

TEST(ReadOptionsTest, GivenValuesAndDefaults) {
  Problems problems;
  auto values = read_options("plugin.a", {}, {member("count", "-2"), member("paths", "['x']")}, kReadTable,
                             {}, problems);
  EXPECT_EQ(problems.status().text(), "OK");
  EXPECT_TRUE(values->get_bool("flag"));
  EXPECT_EQ(values->get_int("count"), -2);
  EXPECT_EQ(values->get_string("mode"), "fast");
  EXPECT_THAT(values->get_strings("paths"), testing::ElementsAre("x"));
}

TEST(ReadOptionsTest, SaysWhatIsWrong) {
  EXPECT_EQ(problems_of({}),
            "m:8:1: plugin.a.paths: found nothing, expected list of strings ([\"a\", \"b\"])");
  auto paths = member("paths", "[]");
  EXPECT_EQ(problems_of({paths, member("count", "11")}),
            "m:1:9: plugin.a.count: found integer 11, expected integer, -2..10");
  EXPECT_EQ(
      problems_of({paths, text("wait", "99999999h")}),
      "m:1:9: plugin.a.wait: found string \"99999999h\", expected duration (\"250ms\"), at most 2562047h");
  EXPECT_EQ(problems_of({paths, text("size", "99999999TiB")}),
            "m:1:9: plugin.a.size: found string \"99999999TiB\", expected bytes (\"64MiB\"), at most 1GiB");
  EXPECT_EQ(problems_of({paths, member("flg", "true")}),
            "m:1:1: unknown key 'flg' in [plugin.a], did you mean 'flag'?");
  EXPECT_EQ(problems_of({paths, member("enable", "true")}),
            "m:1:1: unknown key 'enable' in [plugin.a], did you mean 'enabled'?");
  EXPECT_EQ(problems_of({paths, member("rate", "7")}),
            "m:1:1: unknown key 'rate' in [plugin.a], it is an option of role/other now");
  EXPECT_EQ(problems_of({paths, member("rate2", "7")}), "m:1:1: unknown key 'rate2' in [plugin.a]")
      << "what is not to be had is not suggested";
}

TEST(OptionValuesTest, ATrialListensOnNoFixedPortAndWritesElsewhere) {
  constexpr OptionTable kPlaces{
      option_string("address", "127.0.0.1:8000").listens().help("a"),
      option_string("redis", "127.0.0.1:6379").help("b"), option_string("six").listens().help("c"),
      option_string("folder").state().help("d"), option_string("none").state().help("e")};
  Problems problems;
  const RawValue::Table given = {{"six", {}, {std::string("[::1]:9"), {}}},
                                 {"folder", {}, {std::string("/var/lib/a"), {}}}};
  auto values = read_options("plugin.a", {}, given, kPlaces, {}, problems);
  values->set_for_trial(kPlaces, "/tmp/trial", "a");
  EXPECT_EQ(values->get_string("address"), "127.0.0.1:0");
  EXPECT_EQ(values->get_string("redis"), "127.0.0.1:6379");
  EXPECT_EQ(values->get_string("six"), "[::1]:0");
  EXPECT_EQ(values->get_string("folder"), "/tmp/trial/a.folder");
  EXPECT_EQ(values->get_string("none"), "");
}

TEST(ReadOptionsTest, WrongValuesKeepTheirDefault) {
  Problems problems;
  auto values = read_options("plugin.a", {}, {member("count", "11")}, kReadTable, {}, problems);
  EXPECT_EQ(values->get_int("count"), 3);
  EXPECT_TRUE(values->get_strings("paths").empty());
}

TEST(OptionValuesTest, EqualityIsOfValues) {
  Problems problems;
  auto plain = read_options("plugin.a", {}, {}, kReadTable, {}, problems);
  auto same = read_options("plugin.a", {}, {member("count", "3")}, kReadTable, {}, problems);
  auto other = read_options("plugin.a", {}, {member("count", "4")}, kReadTable, {}, problems);
  EXPECT_TRUE(plain->equals(*same));
  EXPECT_FALSE(plain->equals(*other));
}

}  // namespace
}  // namespace atl::runtime
