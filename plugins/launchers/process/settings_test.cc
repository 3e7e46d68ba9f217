#include "launchers/process/settings.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "atoll/testing/fake_options.h"
#include "atoll/testing/option_table.h"
#include "launchers/process/option_table.h"

namespace atl::launchers {
namespace {

/// As the server checks and gives them.
Result<ProcessSettings> read(test::OptionTexts texts) {
  texts.try_emplace("state_directory", "/var/lib/servers");
  test::FakeOptions options;
  const Status status =
      test::apply_option_table({kProcessOptions.begin(), kProcessOptions.size()}, texts, options, "launcher");
  if (!status.ok()) return status.clone();
  return ProcessSettings::read(options);
}

TEST(ProcessSettings, HaveARuntimeAndTheWholeMachine) {
  const Result<ProcessSettings> settings = read({});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings.value().default_runtime, "atoll");
  EXPECT_TRUE(settings.value().runtimes.at("atoll").has_place("repository"));
  EXPECT_FALSE(settings.value().machine.cpu_cores.empty());
  EXPECT_TRUE(settings.value().machine.gpus.empty());
  EXPECT_GT(settings.value().machine.memory_bytes, uint64_t{1} << 20);
}

TEST(ProcessSettings, AreWhatTheManifestSays) {
  const Result<ProcessSettings> settings =
      read({{"state_directory", "servers"},
            {"runtimes", R"({triton = "tritonserver --http-port {http_port}", atoll = "x"})"},
            {"default_runtime", "triton"},
            {"gpus", R"(["1", "0"])"},
            {"cpu_cores", "0"},
            {"memory", "1GiB"},
            {"stop_timeout", "5s"},
            {"end_with_server", "true"}});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings.value().state_directory, std::filesystem::current_path() / "servers");
  EXPECT_EQ(settings.value().runtimes.size(), 2u);
  EXPECT_FALSE(settings.value().runtimes.at("atoll").has_place("repository"));
  EXPECT_EQ(settings.value().machine.cpu_cores, std::vector<uint32_t>{0});
  EXPECT_EQ(settings.value().machine.gpus, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(settings.value().machine.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(settings.value().stop_timeout_ns, 5 * kNsPerSecond);
  EXPECT_TRUE(settings.value().end_with_server);
}

TEST(ProcessSettings, SayWhatIsWrong) {
  for (const auto& [key, text, message] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"runtimes", R"({a = "x {port}"})", "'{port}' is filled by nobody"},
           {"default_runtime", "b", "option 'default_runtime' is 'b', which is none of 'runtimes'"},
           {"cpu_cores", "2-1", "option 'cpu_cores' is '2-1', expected cores such as 2-15,18"},
           {"cpu_cores", "8191", "option 'cpu_cores': core 8191 is none that this process may use"},
           {"gpus", R"(["0,1"])", "option 'gpus': '0,1': expected numbers or UUIDs of GPUs, each once"},
           {"gpus", R"(["0", "0"])", "option 'gpus': '0': expected"},
           {"cgroup", "/nowhere", "option 'cgroup' is '/nowhere', expected the folder of a control group"},
           {"state_directory", "", "option 'state_directory' is empty"}}) {
    const Result<ProcessSettings> settings = read({{key, text}});
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument) << key << " " << text;
    EXPECT_NE(settings.status().text().find(message), std::string::npos) << settings.status().text();
  }
}

}  // namespace
}  // namespace atl::launchers
