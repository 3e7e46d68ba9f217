#include "kernel/manifest/option_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "atoll/lib/toml.h"

namespace atl::kernel {
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

/// [plugin.grpc] with `text` as its first lines.
InstanceConfig instance(std::string_view text) {
  runtime::Problems problems;
  auto root = lib::parse_toml(text, "etc/atoll.toml", problems);
  EXPECT_TRUE(problems.empty()) << problems.status().text();
  InstanceConfig config;
  config.name = "grpc";
  config.where = {"etc/atoll.toml", 8, 1};
  if (root) config.options = *root->table();
  return config;
}

/// What is wrong is the failure.
Result<std::unique_ptr<OptionValues>> check_or_problems(const InstanceConfig& instance,
                                                        std::span<const atoll_option_v1> table) {
  runtime::Problems problems;
  auto values = check_options(instance, table, problems);
  if (!problems.empty()) return problems.status();
  return values;
}

std::string problems(std::string_view text, std::span<const atoll_option_v1> table = kTable) {
  auto values = check_or_problems(instance(text), table);
  EXPECT_FALSE(values.ok()) << text;
  return values.status().text();
}

TEST(CheckOptionsTest, DefaultsFillIn) {
  auto values = check_or_problems(instance(""), kTable);
  ASSERT_TRUE(values.ok()) << values.status().text();
  const OptionValues& options = **values;
  EXPECT_TRUE(options.get_bool("flag"));
  EXPECT_EQ(options.get_int("count"), 3);
  EXPECT_EQ(options.get_float("ratio"), 0.5);
  EXPECT_EQ(options.get_string("address"), "127.0.0.1:0");
  EXPECT_EQ(options.get_string("mode"), "fast");
  EXPECT_EQ(options.get_duration_ns("timeout"), 30'000'000'000);
  EXPECT_EQ(options.get_bytes("message_bytes_max"), 64u << 20);
  EXPECT_THAT(options.get_strings("paths"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(options.get_map("labels"), testing::ElementsAre(testing::Pair("k", "v")));
  EXPECT_EQ(options.get_int("unset"), 0);
}

TEST(CheckOptionsTest, ReadsEveryType) {
  auto values = check_or_problems(
      instance("flag = false\ncount = -2\nratio = 2\naddress = ''\nmode = 'slow'\n"
               "timeout = '10us'\nmessage_bytes_max = 4096\npaths = []\nlabels = {a = 'b'}\n"),
      kTable);
  ASSERT_TRUE(values.ok()) << values.status().text();
  const OptionValues& options = **values;
  EXPECT_FALSE(options.get_bool("flag"));
  EXPECT_EQ(options.get_int("count"), -2);
  EXPECT_EQ(options.get_float("ratio"), 2.0);
  EXPECT_EQ(options.get_string("address"), "");
  EXPECT_EQ(options.get_string("mode"), "slow");
  EXPECT_EQ(options.get_duration_ns("timeout"), 10'000);
  EXPECT_EQ(options.get_bytes("message_bytes_max"), 4096u);
  EXPECT_TRUE(options.get_strings("paths").empty());
  EXPECT_THAT(options.get_map("labels"), testing::ElementsAre(testing::Pair("a", "b")));
}

TEST(CheckOptionsTest, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const Case kCases[] = {
      {"flag = 1", "etc/atoll.toml:1:8: plugin.grpc.flag: found integer 1, expected boolean (true or false)"},
      {"count = '3'", "etc/atoll.toml:1:9: plugin.grpc.count: found string \"3\", expected integer, -2..10"},
      {"count = 11", "etc/atoll.toml:1:9: plugin.grpc.count: found integer 11, expected integer, -2..10"},
      {"count = -3", "etc/atoll.toml:1:9: plugin.grpc.count: found integer -3, expected integer, -2..10"},
      {"ratio = nan", "etc/atoll.toml:1:9: plugin.grpc.ratio: found float nan, expected number, at least 0"},
      {"ratio = -0.5",
       "etc/atoll.toml:1:9: plugin.grpc.ratio: found float -0.5, expected number, at least 0"},
      {"address = true", "etc/atoll.toml:1:11: plugin.grpc.address: found boolean true, expected string"},
      {"mode = 'fats'",
       "etc/atoll.toml:1:8: plugin.grpc.mode: found string \"fats\", expected one of fast|slow, did you mean "
       "'fast'?"},
      {"timeout = 5",
       "etc/atoll.toml:1:11: plugin.grpc.timeout: found integer 5, expected duration (\"250ms\"), at most "
       "1h"},
      {"timeout = '2h'",
       "etc/atoll.toml:1:11: plugin.grpc.timeout: found string \"2h\", expected duration (\"250ms\"), at "
       "most 1h"},
      {"message_bytes_max = 'lots'",
       "etc/atoll.toml:1:21: plugin.grpc.message_bytes_max: found string \"lots\", expected bytes "
       "(\"64MiB\"), 4KiB..2GiB"},
      {"message_bytes_max = -1",
       "etc/atoll.toml:1:21: plugin.grpc.message_bytes_max: found integer -1, expected bytes (\"64MiB\"), "
       "4KiB..2GiB"},
      {"paths = 'a'",
       "etc/atoll.toml:1:9: plugin.grpc.paths: found string \"a\", expected list of strings ([\"a\", "
       "\"b\"])"},
      {"paths = ['a', 1]",
       "etc/atoll.toml:1:15: plugin.grpc.paths: found integer 1, expected list of strings ([\"a\", \"b\"])"},
      {"labels = {a = 1}",
       "etc/atoll.toml:1:15: plugin.grpc.labels: found integer 1, expected table of strings ({ key = "
       "\"value\" })"},
      {" adress = 'x'", "etc/atoll.toml:1:2: unknown key 'adress' in [plugin.grpc], did you mean 'address'?"},
      {"enable = true", "etc/atoll.toml:1:1: unknown key 'enable' in [plugin.grpc], did you mean 'enabled'?"},
      {"zzz = true", "etc/atoll.toml:1:1: unknown key 'zzz' in [plugin.grpc]"},
      {"count = 99\nflags = 1",
       "etc/atoll.toml:1:9: plugin.grpc.count: found integer 99, expected integer, -2..10\n"
       "etc/atoll.toml:2:1: unknown key 'flags' in [plugin.grpc], did you mean 'flag'?"},
  };
  for (const auto& c : kCases) EXPECT_EQ(problems(c.text), c.problem);
}

TEST(CheckOptionsTest, RequiredOptionsMustBeGiven) {
  constexpr atoll_option_v1 kRequired[] = {
      {"path", ATOLL_OPTION_STRING, ATOLL_OPTION_REQUIRED, nullptr, nullptr, nullptr, nullptr, "Where."}};
  EXPECT_EQ(problems("", kRequired), "etc/atoll.toml:8:1: plugin.grpc.path: found nothing, expected string");
  EXPECT_TRUE(check_or_problems(instance("path = ''"), kRequired).ok());
}

TEST(CheckOptionsTest, EqualityIsOfValuesNotOfText) {
  auto plain = check_or_problems(instance(""), kTable);
  auto same =
      check_or_problems(instance("timeout = '30000ms'\nmessage_bytes_max = 67108864\ncount = 3"), kTable);
  auto other = check_or_problems(instance("count = 4"), kTable);
  ASSERT_TRUE(plain.ok() && same.ok() && other.ok());
  EXPECT_TRUE((*plain)->equals(**same));
  EXPECT_FALSE((*plain)->equals(**other));
}

TEST(CheckOptionsTest, AskingForAWrongKeyOrTypeIsADefectThatIsRemembered) {
  auto values = check_or_problems(instance(""), kTable);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ((*values)->get_int("nope"), 0);
  EXPECT_EQ((*values)->take_defect(), "it asked for option 'nope' that is not in its option table");
  EXPECT_EQ((*values)->take_defect(), "");
  EXPECT_EQ((*values)->get_int("timeout"), 0);
  EXPECT_EQ((*values)->take_defect(),
            "it asked for option 'timeout' as another type than its option table's");
}

TEST(CheckOptionsDeathTest, OnceSealedItEndsTheProcess) {
  auto values = check_or_problems(instance(""), kTable);
  ASSERT_TRUE(values.ok());
  (*values)->seal();
  EXPECT_DEATH((void)(*values)->get_int("nope"), "option 'nope' that is not in its option table");
}

}  // namespace
}  // namespace atl::kernel
