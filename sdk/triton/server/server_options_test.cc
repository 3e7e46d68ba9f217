#include "atoll/triton/server_options.h"

#include <gtest/gtest.h>

#include "testing/program.h"

namespace atl::triton::test {
namespace {

class Options : public testing::Test {
 protected:
  Options() { expect_ok(TRITONSERVER_ServerOptionsNew(&options)); }
  ~Options() override { expect_ok(TRITONSERVER_ServerOptionsDelete(options)); }
  TRITONSERVER_ServerOptions* options = nullptr;
};

TEST_F(Options, DefaultsAreTheProtocols) {
  EXPECT_EQ(options->server_id, "triton");
  EXPECT_EQ(options->control_mode, TRITONSERVER_MODEL_CONTROL_POLL);
  EXPECT_TRUE(options->strict_config && options->strict_readiness && options->exit_on_error);
  EXPECT_EQ(options->rate_limit_mode, TRITONSERVER_RATE_LIMIT_OFF);
  EXPECT_TRUE(options->metrics && options->gpu_metrics && options->cpu_metrics);
  EXPECT_EQ(options->metrics_interval_ms, 2000u);
  EXPECT_EQ(options->exit_timeout_s, 30u);
  EXPECT_EQ(options->pinned_pool_bytes, 268435456u);
  EXPECT_EQ(options->buffer_threads, 0u);
  EXPECT_EQ(options->load_threads, 4u);
  EXPECT_FALSE(options->namespacing);
  EXPECT_EQ(options->backend_directory, "/opt/tritonserver/backends");
  EXPECT_EQ(options->agent_directory, "/opt/tritonserver/repoagents");
  EXPECT_EQ(options->cache_directory, "/opt/tritonserver/caches");
}

TEST_F(Options, OfModels) {
  expect_ok(TRITONSERVER_ServerOptionsSetServerId(options, "id"));
  expect_ok(TRITONSERVER_ServerOptionsSetModelRepositoryPath(options, "/a"));
  expect_ok(TRITONSERVER_ServerOptionsSetModelRepositoryPath(options, "/b"));
  expect_ok(TRITONSERVER_ServerOptionsSetModelControlMode(options, TRITONSERVER_MODEL_CONTROL_EXPLICIT));
  expect_ok(TRITONSERVER_ServerOptionsSetStartupModel(options, "m"));
  expect_ok(TRITONSERVER_ServerOptionsSetStrictModelConfig(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetModelConfigName(options, "special"));
  expect_ok(TRITONSERVER_ServerOptionsSetModelNamespacing(options, true));
  expect_ok(TRITONSERVER_ServerOptionsSetModelLoadThreadCount(options, 8));
  expect_ok(TRITONSERVER_ServerOptionsSetModelLoadRetryCount(options, 2));
  EXPECT_EQ(options->server_id, "id");
  EXPECT_EQ(options->repositories, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(options->control_mode, TRITONSERVER_MODEL_CONTROL_EXPLICIT);
  EXPECT_EQ(options->startup_models, std::vector<std::string>{"m"});
  EXPECT_FALSE(options->strict_config);
  EXPECT_EQ(options->config_name, "special");
  EXPECT_TRUE(options->namespacing);
  EXPECT_EQ(options->load_threads, 8u);
  EXPECT_EQ(options->load_retries, 2u);
  expect_invalid(
      TRITONSERVER_ServerOptionsSetModelControlMode(options, static_cast<TRITONSERVER_ModelControlMode>(3)),
      "model control mode 3 is unknown");
  EXPECT_EQ(options->control_mode, TRITONSERVER_MODEL_CONTROL_EXPLICIT);
}

TEST_F(Options, OfMemoryAndDevicesThatNeedNotBeThere) {
  expect_ok(TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize(options, 1));
  expect_ok(TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize(options, 0, 1 << 30));
  expect_ok(TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize(options, 1, 5));
  expect_ok(TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability(options, 7.5));
  expect_ok(TRITONSERVER_ServerOptionsSetEnablePeerAccess(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetBufferManagerThreadCount(options, 3));
  EXPECT_EQ(options->pinned_pool_bytes, 1u);
  EXPECT_EQ(options->cuda_pool_bytes.at(0), 1u << 30);
  EXPECT_EQ(options->cuda_virtual_space_bytes.at(1), 5u);
  EXPECT_EQ(options->min_compute_capability, 7.5);
  EXPECT_FALSE(options->peer_access);
  EXPECT_EQ(options->buffer_threads, 3u);
  expect_invalid(TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize(options, -1, 1));
  expect_invalid(TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize(options, -1, 1));

  const auto limit = [&](int kind, int device, double part) {
    return TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(
        options, static_cast<TRITONSERVER_InstanceGroupKind>(kind), device, part);
  };
  expect_ok(limit(TRITONSERVER_INSTANCEGROUPKIND_GPU, 2, 0.5));
  EXPECT_EQ(options->gpu_load_limits.at(2), 0.5);
  expect_invalid(limit(TRITONSERVER_INSTANCEGROUPKIND_CPU, 0, 0.5),
                 "loads are limited on devices of kind CPU, expected GPU");
  expect_invalid(limit(7, 0, 0.5));
  expect_invalid(limit(TRITONSERVER_INSTANCEGROUPKIND_GPU, -1, 0.5));
  expect_invalid(limit(TRITONSERVER_INSTANCEGROUPKIND_GPU, 0, 1.5));
  expect_invalid(limit(TRITONSERVER_INSTANCEGROUPKIND_GPU, 0, -0.5));
}

TEST_F(Options, OfRateLimits) {
  expect_ok(TRITONSERVER_ServerOptionsSetRateLimiterMode(options, TRITONSERVER_RATE_LIMIT_EXEC_COUNT));
  EXPECT_EQ(options->rate_limit_mode, TRITONSERVER_RATE_LIMIT_EXEC_COUNT);
  expect_invalid(
      TRITONSERVER_ServerOptionsSetRateLimiterMode(options, static_cast<TRITONSERVER_RateLimitMode>(2)));
  expect_ok(TRITONSERVER_ServerOptionsAddRateLimiterResource(options, "R", 4, -1));
  expect_ok(TRITONSERVER_ServerOptionsAddRateLimiterResource(options, "R", 2, -1));
  expect_ok(TRITONSERVER_ServerOptionsAddRateLimiterResource(options, "R", 3, -1));
  expect_ok(TRITONSERVER_ServerOptionsAddRateLimiterResource(options, "R", 9, 1));
  EXPECT_EQ(options->resources.at(-1).at("R"), 2u) << "the fewest";
  EXPECT_EQ(options->resources.at(1).at("R"), 9u);
  expect_invalid(TRITONSERVER_ServerOptionsAddRateLimiterResource(options, "R", 9, -2));
}

TEST_F(Options, OfForeignCode) {
  expect_ok(TRITONSERVER_ServerOptionsSetBackendDirectory(options, "/b"));
  expect_ok(TRITONSERVER_ServerOptionsSetRepoAgentDirectory(options, "/a"));
  expect_ok(TRITONSERVER_ServerOptionsSetCacheDirectory(options, "/c"));
  expect_ok(TRITONSERVER_ServerOptionsSetBackendConfig(options, "", "all", "1"));
  expect_ok(TRITONSERVER_ServerOptionsSetBackendConfig(options, "python", "shm", "1"));
  expect_ok(TRITONSERVER_ServerOptionsSetBackendConfig(options, "python", "shm", "2"));
  EXPECT_EQ(options->backend_directory, "/b");
  EXPECT_EQ(options->agent_directory, "/a");
  EXPECT_EQ(options->cache_directory, "/c");
  EXPECT_EQ(options->backend_settings.at("").at("all"), "1");
  EXPECT_EQ(options->backend_settings.at("python").at("shm"), "2");
  expect_ok(TRITONSERVER_ServerOptionsSetResponseCacheByteSize(options, 1024));
  EXPECT_EQ(options->cache, std::make_pair(std::string("local"), std::string(R"({"size":"1024"})")));
  expect_ok(TRITONSERVER_ServerOptionsSetCacheConfig(options, "redis", "{\"port\":\"1\"}"));
  EXPECT_EQ(options->cache->first, "redis");
  EXPECT_EQ(options->cache->second, "{\"port\":\"1\"}");
  expect_ok(TRITONSERVER_ServerOptionsSetHostPolicy(options, "cpu", "numa-node", "0"));
  expect_ok(TRITONSERVER_ServerOptionsSetHostPolicy(options, "cpu", "cpu-cores", "0-3"));
  EXPECT_EQ(options->host_policies.at("cpu").at("cpu-cores"), "0-3");
  expect_error(TRITONSERVER_ServerOptionsSetHostPolicy(options, "cpu", "color", "red"),
               TRITONSERVER_ERROR_UNSUPPORTED,
               "a host policy has no setting 'color', only 'numa-node' and 'cpu-cores'");
}

TEST_F(Options, OfLogMetricsAndTheEnd) {
  expect_ok(TRITONSERVER_ServerOptionsSetExitOnError(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetStrictReadiness(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetExitTimeout(options, 5));
  expect_ok(TRITONSERVER_ServerOptionsSetLogFile(options, "/l"));
  expect_ok(TRITONSERVER_ServerOptionsSetLogInfo(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetLogWarn(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetLogError(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetLogFormat(options, TRITONSERVER_LOG_ISO8601));
  expect_invalid(TRITONSERVER_ServerOptionsSetLogFormat(options, static_cast<TRITONSERVER_LogFormat>(2)));
  expect_ok(TRITONSERVER_ServerOptionsSetLogVerbose(options, 3));
  expect_ok(TRITONSERVER_ServerOptionsSetMetrics(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetGpuMetrics(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetCpuMetrics(options, false));
  expect_ok(TRITONSERVER_ServerOptionsSetMetricsInterval(options, 10));
  expect_ok(TRITONSERVER_ServerOptionsSetMetricsConfig(options, "", "summary_latencies", "true"));
  EXPECT_FALSE(options->exit_on_error || options->strict_readiness);
  EXPECT_EQ(options->exit_timeout_s, 5u);
  EXPECT_EQ(options->log_file, "/l");
  EXPECT_FALSE(options->log_info || options->log_warn || options->log_error);
  EXPECT_EQ(options->log_format, TRITONSERVER_LOG_ISO8601);
  EXPECT_EQ(options->log_verbose, 3u);
  EXPECT_FALSE(options->metrics || options->gpu_metrics || options->cpu_metrics);
  EXPECT_EQ(options->metrics_interval_ms, 10u);
  EXPECT_EQ(options->metrics_settings.at("").at("summary_latencies"), "true");
  expect_ok(TRITONSERVER_ServerOptionsSetLogVerbose(options, -1));
  EXPECT_EQ(options->log_verbose, 0u);
}

TEST_F(Options, NullArgumentsAreErrors) {
  for (TRITONSERVER_Error* error :
       {TRITONSERVER_ServerOptionsNew(nullptr), TRITONSERVER_ServerOptionsDelete(nullptr),
        TRITONSERVER_ServerOptionsSetServerId(options, nullptr),
        TRITONSERVER_ServerOptionsSetModelRepositoryPath(nullptr, "/a"),
        TRITONSERVER_ServerOptionsSetLogInfo(nullptr, true),
        TRITONSERVER_ServerOptionsSetBackendConfig(options, nullptr, "a", "b"),
        TRITONSERVER_ServerOptionsSetHostPolicy(options, "a", nullptr, "b"),
        TRITONSERVER_ServerOptionsSetCacheConfig(options, "a", nullptr),
        TRITONSERVER_ServerOptionsAddRateLimiterResource(options, nullptr, 1, -1)}) {
    expect_invalid(error);
  }
}

}  // namespace
}  // namespace atl::triton::test
