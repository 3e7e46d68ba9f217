#include "server/server_manifest.h"

#include <gtest/gtest.h>

#include <fstream>

namespace atl::triton {
namespace {

namespace fs = std::filesystem;
using Keys = std::map<std::string, std::string>;

class ServerManifest : public testing::Test {
 protected:
  ServerManifest() { options_.repositories = {"/models"}; }
  ~ServerManifest() override { fs::remove_all(plugins_); }
  Keys keys() {
    auto made = manifest_of(options_, plugins_);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return made.ok() ? *made : Keys();
  }
  void expect_failure(Code code, std::string_view text) {
    auto made = manifest_of(options_, plugins_);
    EXPECT_EQ(made.status().code(), code);
    EXPECT_NE(made.status().text().find(text), std::string::npos) << made.status().text();
  }
  TRITONSERVER_ServerOptions options_;
  fs::path plugins_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ServerManifest, OfTheDefaults) {
  const Keys expected = {{"atoll.drain_timeout", "\"30s\""},
                         {"atoll.worker_threads", "4"},
                         {"log.file", "\"\""},
                         {"log.level", "\"info\""},
                         {"log.time_format", "\"default\""},
                         {"plugin.c_api.server_name", "\"triton\""},
                         {"plugin.c_api.use", "\"frontends/c_api\""},
                         {"plugin.configs.use", "\"configs/pbtxt\""},
                         {"plugin.control.use", "\"control/poll\""},
                         {"plugin.default.use", "\"schedulers/default\""},
                         {"plugin.host.use", "\"memory/host\""},
                         {"plugin.metrics.cpu_metrics", "true"},
                         {"plugin.metrics.interval", "\"2000ms\""},
                         {"plugin.metrics.listen", "false"},
                         {"plugin.metrics.use", "\"frontends/metrics\""},
                         {"plugin.models.auto_complete_config", "false"},
                         {"plugin.models.load_retry_count", "0"},
                         {"plugin.models.namespacing", "false"},
                         {"plugin.models.strict_readiness", "true"},
                         {"plugin.models.use", "\"models/catalog\""},
                         {"plugin.repository.allow_missing_paths", "false"},
                         {"plugin.repository.config_name", "\"\""},
                         {"plugin.repository.missing_paths_fail_health", "false"},
                         {"plugin.repository.namespacing", "false"},
                         {"plugin.repository.paths", "[\"/models\"]"},
                         {"plugin.repository.use", "\"repositories/filesystem\""}};
  EXPECT_EQ(keys(), expected);
}

TEST_F(ServerManifest, UsesTheBackendsAndSchedulersThatAreThere) {
  for (const char* file : {"backends/triton.so", "backends/identity.so", "backends/python.so",
                           "schedulers/dynamic.so", "agents/triton.so"}) {
    fs::create_directories((plugins_ / file).parent_path());
    std::ofstream(plugins_ / file) << "x";
  }
  options_.backend_directory = "/b";
  Keys made = keys();
  EXPECT_EQ(made["plugin.triton.directories"], "[\"/b\"]");
  EXPECT_EQ(made["plugin.dynamic.backend_directory"], "\"/b\"");
  EXPECT_EQ(made["plugin.python.use"], "\"backends/python\"");
  EXPECT_EQ(made["plugin.python.directories"], "[\"/b\"]");
  EXPECT_EQ(made["plugin.python.environment"], "[\"*\"]");
  EXPECT_EQ(made["plugin.agents.directories"], "[\"/opt/tritonserver/repoagents\"]");
  EXPECT_EQ(made["plugin.identity.use"], "\"backends/identity\"");
  EXPECT_FALSE(made.contains("plugin.onnxruntime.use"));
}

TEST_F(ServerManifest, GpusAsTheOptionsSay) {
  options_.gpu_load_limits = {{0, 0.5}, {3, 1}};
  options_.cuda_virtual_space_bytes = {{0, 4096}, {1, 8192}};
  EXPECT_EQ(keys()["plugin.models.gpu_load_limit"], R"({"0" = "0.5", "3" = "1"})");
  EXPECT_FALSE(keys().contains("plugin.gpus.use"));
  EXPECT_FALSE(keys().contains("plugin.sequence_oldest.growable_state"));
  for (const char* file : {"memory/cuda.so", "memory/pinned.so", "schedulers/sequence_oldest.so"}) {
    fs::create_directories((plugins_ / file).parent_path());
    std::ofstream(plugins_ / file) << "x";
  }
  options_.cuda_pool_bytes = {{1, 5}};
  options_.min_compute_capability = 7.5;
  Keys made = keys();
  EXPECT_EQ(made["plugin.gpus.use"], "\"memory/cuda\"");
  EXPECT_EQ(made["plugin.gpus.kept_by_device"], R"({"1" = "5B"})");
  EXPECT_EQ(made["plugin.gpus.min_compute_capability"], "7.5");
  EXPECT_EQ(made["plugin.configs.min_compute_capability"], "7.5");
  EXPECT_EQ(made["plugin.models.backend_settings"], R"({"min-compute-capability" = "7.500000"})");
  EXPECT_EQ(made["plugin.pinned.use"], "\"memory/pinned\"");
  EXPECT_EQ(made["plugin.pinned.size"], "\"268435456B\"");
  EXPECT_EQ(made["plugin.sequence_oldest.growable_state"], "\"8192B\"");
  EXPECT_FALSE(made.contains("plugin.cuda.use"));
  EXPECT_FALSE(made.contains("plugin.sequence_direct.use"));
  options_.min_compute_capability = -1;
  EXPECT_EQ(keys()["plugin.gpus.min_compute_capability"], "0");
}

TEST_F(ServerManifest, UsesAnotherCacheFromItsDirectory) {
  options_.cache = {"other", R"({"a": 1})"};
  options_.cache_directory = "/c";
  Keys made = keys();
  EXPECT_EQ(made["plugin.cache.use"], "\"caches/triton\"");
  EXPECT_EQ(made["plugin.cache.name"], "\"other\"");
  EXPECT_EQ(made["plugin.cache.directories"], "[\"/c\"]");
  EXPECT_EQ(made["plugin.cache.settings"], "{\"a\" = \"1\"}");
}

struct Case {
  void (*set)(TRITONSERVER_ServerOptions&);
  const char* key;
  const char* value;
};
using Options = TRITONSERVER_ServerOptions;
const Case kCases[] = {
    {[](Options& o) { o.repositories.push_back("/b\"c"); }, "plugin.repository.paths",
     "[\"/models\", \"/b\\\"c\"]"},
    {[](Options& o) { o.exit_on_error = false; }, "plugin.repository.allow_missing_paths", "true"},
    {[](Options& o) { o.control_mode = TRITONSERVER_MODEL_CONTROL_NONE; }, "plugin.control.use",
     "\"control/none\""},
    {[](Options& o) { o.control_mode = TRITONSERVER_MODEL_CONTROL_EXPLICIT; }, "plugin.control.use",
     "\"control/explicit\""},
    {[](Options& o) {
       o.control_mode = TRITONSERVER_MODEL_CONTROL_EXPLICIT;
       o.startup_models = {"a", "b"};
     },
     "plugin.control.load_model", "[\"a\", \"b\"]"},
    {[](Options& o) { o.strict_config = false; }, "plugin.models.auto_complete_config", "true"},
    {[](Options& o) { o.strict_readiness = false; }, "plugin.models.strict_readiness", "false"},
    {[](Options& o) { o.namespacing = true; }, "plugin.models.namespacing", "true"},
    {[](Options& o) { o.namespacing = true; }, "plugin.repository.namespacing", "true"},
    {[](Options& o) { o.load_retries = 1000; }, "plugin.models.load_retry_count", "100"},
    {[](Options& o) { o.load_threads = 0; }, "atoll.worker_threads", "1"},
    {[](Options& o) { o.exit_timeout_s = 4'000'000'000; }, "atoll.drain_timeout", "\"86400s\""},
    {[](Options& o) {
       o.backend_settings = {{"", {{"all", "1"}}}, {"b", {{"one", "2"}}}};
     },
     "plugin.models.backend_settings", "{\"all\" = \"1\", \"b.one\" = \"2\"}"},
    {[](Options& o) {
       o.host_policies = {{"cpu", {{"numa-node", "0"}}}};
     },
     "plugin.models.host_policies", "{\"cpu.numa-node\" = \"0\"}"},
    {[](Options& o) { o.rate_limit_mode = TRITONSERVER_RATE_LIMIT_EXEC_COUNT; }, "plugin.rate_limiter.use",
     "\"admission/rate_limiter\""},
    {[](Options& o) {
       o.rate_limit_mode = TRITONSERVER_RATE_LIMIT_EXEC_COUNT;
       o.resources = {{-1, {{"r", 2}}}, {0, {{"s", 3}}}};
     },
     "plugin.rate_limiter.resources", "[\"r:2\", \"s:3:0\"]"},
    {[](Options& o) {
       o.cache = {"local", R"({"size": "1048576"})"};
     },
     "plugin.cache.size", "\"1048576B\""},
    {[](Options& o) {
       o.cache = {"redis", R"({"host": "h", "port": 7})"};
     },
     "plugin.cache.address", "\"h:7\""},
    {[](Options& o) { o.cpu_metrics = false; }, "plugin.metrics.cpu_metrics", "false"},
    {[](Options& o) { o.metrics_interval_ms = 0; }, "plugin.metrics.interval", "\"1ms\""},
    {[](Options& o) { o.metrics_settings[""]["summary_latencies"] = "true"; },
     "plugin.metrics.summary_latencies", "true"},
    {[](Options& o) { o.metrics_settings[""]["summary_quantiles"] = "0.5:0.1,0.9:0.1"; },
     "plugin.metrics.summary_quantiles", "[\"0.5:0.1\", \"0.9:0.1\"]"},
    {[](Options& o) { o.log_verbose = 1; }, "log.level", "\"debug\""},
    {[](Options& o) { o.log_verbose = 2; }, "log.level", "\"trace\""},
    {[](Options& o) { o.log_info = false; }, "log.level", "\"warning\""},
    {[](Options& o) { o.log_info = o.log_warn = o.log_error = false; }, "log.level", "\"error\""},
    {[](Options& o) { o.log_format = TRITONSERVER_LOG_ISO8601; }, "log.time_format", "\"ISO8601\""},
    {[](Options& o) { o.log_file = "/l"; }, "log.file", "\"/l\""},
    {[](Options& o) { o.server_id = "s"; }, "plugin.c_api.server_name", "\"s\""},
};

TEST_F(ServerManifest, EveryOptionHasItsKey) {
  for (const Case& c : kCases) {
    options_ = Options();
    options_.repositories = {"/models"};
    c.set(options_);
    EXPECT_EQ(keys()[c.key], c.value) << c.key;
  }
}

TEST_F(ServerManifest, WithoutWhatIsOff) {
  options_.metrics = false;
  options_.cache = {"local", R"({"size": "0"})"};
  Keys made = keys();
  for (const char* key : {"plugin.metrics.use", "plugin.cache.use", "plugin.rate_limiter.use"}) {
    EXPECT_FALSE(made.contains(key)) << key;
  }
}

TEST_F(ServerManifest, WhatCanNotBeServedIsAFailure) {
  options_.cache = {"redis", R"({"tls_enabled": true})"};
  expect_failure(Code::kUnimplemented, "'tls_enabled'");
  options_.cache = {"local", "{}"};
  expect_failure(Code::kInternal, "valid 'size' field");
  options_.cache = {"local", "[1]"};
  expect_failure(Code::kInvalidArgument, "expected a JSON object");
  options_.cache.reset();
  options_.backend_settings = {{"a.b", {{"c", "d"}}}};
  expect_failure(Code::kInvalidArgument, "found 'a.b'");
  options_ = Options();
  expect_failure(Code::kInvalidArgument, "--model-repository must be specified");
}

TEST(FlatJson, IsRead) {
  EXPECT_EQ(read_flat_json(R"( { "a" : "x\"\\y" , "b":-1.5, "c":true } )").value(),
            (Keys{{"a", "x\"\\y"}, {"b", "-1.5"}, {"c", "true"}}));
  EXPECT_EQ(read_flat_json("{}").value(), Keys());
  EXPECT_EQ(read_flat_json(R"({"a": "\u0041"})").value(), (Keys{{"a", "A"}}));
  for (const char* bad : {"", "{", "[]", "{\"a\"}", "{\"a\":}", "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":1,}",
                          "{\"a\":1}x", "{\"a\":null}", "{\"a\":\"", "{\"a\":\"\\"}) {
    EXPECT_FALSE(read_flat_json(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace atl::triton
