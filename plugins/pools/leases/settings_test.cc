#include "pools/leases/settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "atoll/testing/fake_options.h"
#include "atoll/testing/option_table.h"
#include "pools/leases/option_table.h"

namespace atl::pools {
namespace {

/// As the server checks and gives them.
Result<PluginSettings> read(test::OptionTexts texts) {
  texts.try_emplace("state_directory", "/var/lib/pools");
  texts.try_emplace("sources", R"(["/srv/models"])");
  test::FakeOptions options;
  Status status =
      test::apply_option_table({kPoolOptions.begin(), kPoolOptions.size()}, texts, options, "pools");
  if (!status.ok()) return status;
  return PluginSettings::read(options);
}

TEST(PluginSettings, AreWhatTheManifestSays) {
  const Result<PluginSettings> read_settings = read(
      {{"state_directory", "pools/"},
       {"sources", R"(["/srv/models/", "/data/../team"])"},
       {"pools",
        R"({fraud = '{"quota": 8, "max_instances": 4}', b = '{"name":"b","quota":1,"max_instances":1}'})"},
       {"idle_timeout", "5s"},
       {"max_leases", "7"},
       {"load_timeout", "1m"}});
  ASSERT_TRUE(read_settings.ok()) << read_settings.status().text();
  const PluginSettings& settings = read_settings.value();
  EXPECT_EQ(settings.state_directory, std::filesystem::current_path() / "pools");
  EXPECT_EQ(settings.pools.repositories, settings.state_directory + "/repositories");
  EXPECT_EQ(settings.pools.lease_limits.sources, (std::vector<std::string>{"/srv/models", "/team"}));
  ASSERT_EQ(settings.declared.size(), 2u);
  EXPECT_EQ(settings.declared[1].name, "fraud");
  EXPECT_EQ(settings.declared[1].quota, 8u);
  EXPECT_EQ(settings.pools.idle_ns, 5 * kNsPerSecond);
  EXPECT_EQ(settings.pools.leases_max, 7u);
  EXPECT_EQ(settings.host.load_timeout_ns, 60 * kNsPerSecond);
}

TEST(PluginSettings, SayWhatIsWrong) {
  for (const auto& [key, text, message] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"state_directory", "", "option 'state_directory' is empty"},
           {"sources", "[]", "option 'sources' is empty, expected a folder at least"},
           {"sources", R"([""])", "option 'sources' has an empty text"},
           {"max_duration", "1s", "option 'default_duration': duration is 3600s, expected at most 1s"},
           {"use_ssl", "true",
            "option 'root_cert' is empty, expected the path of a PEM file, because 'use_ssl' is true"},
           {"max_backoff", "1ms", "option 'max_backoff' is shorter than 'backoff'"},
           {"pools", R"({fraud = 'x'})", "option 'pools': 'fraud': "},
           {"pools", R"({fraud = '{"quota": 1}'})",
            "option 'pools': 'fraud': max_instances is missing or 0, expected 1 to 10000"},
           {"pools", R"({fraud = '{"name": "a", "quota": 1, "max_instances": 1}'})",
            "option 'pools': 'fraud': name is 'a'"},
           {"pools", R"({"a/b" = '{"quota": 1, "max_instances": 1}'})",
            "option 'pools': 'a/b': name is 'a/b'"}}) {
    const Result<PluginSettings> settings = read({{key, text}});
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument) << key << " " << text;
    EXPECT_NE(settings.status().text().find(message), std::string::npos) << settings.status().text();
  }
}

}  // namespace
}  // namespace atl::pools
