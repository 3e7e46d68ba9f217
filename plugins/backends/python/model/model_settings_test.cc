#include "backends/python/model/model_settings.h"

#include <gtest/gtest.h>

namespace atl::python {
namespace {

ModelSource source_with(std::map<std::string, std::string, std::less<>> parameters) {
  ModelSource source;
  source.name = source.model.name = "m";
  source.model_directory = "/models/m";
  source.model.parameters = std::move(parameters);
  return source;
}

std::string error_of(const PythonSettings& options, const ModelSource& source) {
  return model_settings(options, source).status().text();
}

TEST(ModelSettings, AModelSaysWhatIsDifferent) {
  PythonSettings options;
  options.start_timeout_ns = 5;
  auto settings =
      model_settings(options, source_with({{"execute_timeout", "250ms"},
                                           {"memory_limit", "1GiB"},
                                           {"open_files", "100"},
                                           {"cpu_cores", "1,3"},
                                           {"interpreter", "/opt/python3"},
                                           {"EXECUTION_ENV_PATH", "$$TRITON_MODEL_DIRECTORY/venv"}}));
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings->execute_timeout_ns, 250'000'000);
  EXPECT_EQ(settings->start_timeout_ns, 5);
  EXPECT_EQ(settings->limits.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(settings->limits.open_files, 100u);
  EXPECT_EQ(settings->limits.cpu_cores, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(settings->interpreter, "/opt/python3");
  EXPECT_EQ(settings->environment_path, "/models/m/venv");
}

TEST(ModelSettings, AModelMayBeDevelopedOrNot) {
  PythonSettings options;
  EXPECT_FALSE(model_settings(options, source_with({})).value().watch);
  EXPECT_TRUE(model_settings(options, source_with({{"watch", "true"}})).value().watch);
  options.watch = true;
  EXPECT_TRUE(model_settings(options, source_with({})).value().watch);
  EXPECT_FALSE(model_settings(options, source_with({{"watch", "false"}})).value().watch);
  EXPECT_EQ(error_of(options, source_with({{"watch", "1"}})),
            "model 'm': parameter 'watch' is '1', expected true or false");
}

TEST(ModelSettings, BackendSettingsOfTritonMeanWhatTheyCan) {
  ModelSource source = source_with({});
  source.settings = {
      {"shm-default-byte-size", "4194304"}, {"stub-timeout-seconds", "7"}, {"thread-pool-size", "x"}};
  auto settings = model_settings({}, source);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->first_slab_bytes, 4u << 20);
  EXPECT_EQ(settings->start_timeout_ns, 7'000'000'000);
}

TEST(ModelSettings, SettingsMayBeThoseOfAnotherBackend) {
  ModelSource source = source_with({});
  source.settings = {{"stub-timeout-seconds", "7"}, {".python.stub-timeout-seconds", "9"}};
  EXPECT_EQ(model_settings({}, source, "python")->start_timeout_ns, 9'000'000'000);
}

TEST(ModelSettings, BoundsOfThePluginStay) {
  PythonSettings options;
  options.limits.memory_bytes = 1000;
  options.limits.cpu_cores = {1, 2};
  options.user = "nobody";
  EXPECT_EQ(
      error_of(options, source_with({{"memory_limit", "1001"}})),
      "model 'm': parameter 'memory_limit' is '1001', expected at most 1000, as the plugin's option says");
  EXPECT_EQ(error_of(options, source_with({{"memory_limit", "0"}})),
            "model 'm': parameter 'memory_limit' is '0', expected at most 1000, as the plugin's option says");
  EXPECT_EQ(error_of(options,
                     source_with({{"memory_limit", "999"}, {"cpu_cores", "2"}, {"run_as_user", "nobody"}})),
            "OK");
  EXPECT_EQ(
      error_of(options, source_with({{"cpu_cores", "2-3"}})),
      "model 'm': parameter 'cpu_cores' is '2-3', expected only cores of the plugin's option, and 3 is none");
  EXPECT_EQ(error_of(options, source_with({{"run_as_user", "root"}})),
            "model 'm': parameter 'run_as_user' is 'root', expected 'nobody', as the plugin's option says");
}

TEST(ModelSettings, WrongOnesSaySo) {
  EXPECT_EQ(error_of({}, source_with({{"execute_timeout", "soon"}})),
            "model 'm': parameter 'execute_timeout' is 'soon', expected a duration such as 500ms or 30s");
  EXPECT_EQ(
      error_of({}, source_with({{"start_timeout", "99999999h"}})),
      "model 'm': parameter 'start_timeout' is '99999999h', expected a duration such as 500ms or 30s, at most "
      "2562047h");
  EXPECT_EQ(error_of({}, source_with({{"open_files", "-1"}})),
            "model 'm': parameter 'open_files' is '-1', expected a size such as 512MiB, or a number");
  EXPECT_EQ(error_of({}, source_with({{"cpu_cores", "a"}})),
            "model 'm': parameter 'cpu_cores' is 'a', expected CPU cores such as 0-3,8");
  EXPECT_EQ(error_of({}, source_with({{"FORCE_CPU_ONLY_INPUT_TENSORS", "maybe"}})),
            "Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: maybe'");
}

}  // namespace
}  // namespace atl::python
