#include "atoll/triton/server_options.h"

#include "server/server_options_internal.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONSERVER_ServerOptionsNew(TRITONSERVER_ServerOptions** options) {
  if (options == nullptr) return null_argument(__func__);
  *options = nullptr;
  return stored([&] { *options = new TRITONSERVER_ServerOptions; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsDelete(TRITONSERVER_ServerOptions* options) {
  if (options == nullptr) return null_argument(__func__);
  delete options;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetServerId(TRITONSERVER_ServerOptions* options,
                                                          const char* server_id) {
  if (any_null(options, server_id)) return null_argument(__func__);
  return stored([&] { options->server_id = server_id; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelRepositoryPath(TRITONSERVER_ServerOptions* options,
                                                                     const char* model_repository_path) {
  if (any_null(options, model_repository_path)) return null_argument(__func__);
  return stored([&] { options->repositories.emplace_back(model_repository_path); });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelControlMode(TRITONSERVER_ServerOptions* options,
                                                                  TRITONSERVER_ModelControlMode mode) {
  if (options == nullptr) return null_argument(__func__);
  if (mode < TRITONSERVER_MODEL_CONTROL_NONE || mode > TRITONSERVER_MODEL_CONTROL_EXPLICIT) {
    return invalid_argument("model control mode ", static_cast<int>(mode), " is unknown");
  }
  options->control_mode = mode;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetStartupModel(TRITONSERVER_ServerOptions* options,
                                                              const char* model_name) {
  if (any_null(options, model_name)) return null_argument(__func__);
  return stored([&] { options->startup_models.emplace_back(model_name); });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetStrictModelConfig(TRITONSERVER_ServerOptions* options,
                                                                   bool strict) {
  if (options == nullptr) return null_argument(__func__);
  options->strict_config = strict;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelConfigName(TRITONSERVER_ServerOptions* options,
                                                                 const char* model_config_name) {
  if (any_null(options, model_config_name)) return null_argument(__func__);
  return stored([&] { options->config_name = model_config_name; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelNamespacing(TRITONSERVER_ServerOptions* options,
                                                                  bool enable_namespace) {
  if (options == nullptr) return null_argument(__func__);
  options->namespacing = enable_namespace;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadThreadCount(TRITONSERVER_ServerOptions* options,
                                                                      unsigned int thread_count) {
  if (options == nullptr) return null_argument(__func__);
  options->load_threads = thread_count;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadRetryCount(TRITONSERVER_ServerOptions* options,
                                                                     unsigned int retry_count) {
  if (options == nullptr) return null_argument(__func__);
  options->load_retries = retry_count;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetExitOnError(TRITONSERVER_ServerOptions* options, bool exit) {
  if (options == nullptr) return null_argument(__func__);
  options->exit_on_error = exit;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetStrictReadiness(TRITONSERVER_ServerOptions* options,
                                                                 bool strict) {
  if (options == nullptr) return null_argument(__func__);
  options->strict_readiness = strict;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetExitTimeout(TRITONSERVER_ServerOptions* options,
                                                             unsigned int timeout) {
  if (options == nullptr) return null_argument(__func__);
  options->exit_timeout_s = timeout;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetResponseCacheByteSize(TRITONSERVER_ServerOptions* options,
                                                                       uint64_t size) {
  if (options == nullptr) return null_argument(__func__);
  return stored([&] { options->cache.emplace("local", atl::cat("{\"size\":\"", size, "\"}")); });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCacheConfig(TRITONSERVER_ServerOptions* options,
                                                             const char* cache_name,
                                                             const char* config_json) {
  if (any_null(options, cache_name, config_json)) return null_argument(__func__);
  return stored([&] { options->cache.emplace(cache_name, config_json); });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCacheDirectory(TRITONSERVER_ServerOptions* options,
                                                                const char* cache_dir) {
  if (any_null(options, cache_dir)) return null_argument(__func__);
  return stored([&] { options->cache_directory = cache_dir; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetrics(TRITONSERVER_ServerOptions* options, bool metrics) {
  if (options == nullptr) return null_argument(__func__);
  options->metrics = metrics;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetGpuMetrics(TRITONSERVER_ServerOptions* options,
                                                            bool gpu_metrics) {
  if (options == nullptr) return null_argument(__func__);
  options->gpu_metrics = gpu_metrics;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCpuMetrics(TRITONSERVER_ServerOptions* options,
                                                            bool cpu_metrics) {
  if (options == nullptr) return null_argument(__func__);
  options->cpu_metrics = cpu_metrics;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetricsInterval(TRITONSERVER_ServerOptions* options,
                                                                 uint64_t metrics_interval_ms) {
  if (options == nullptr) return null_argument(__func__);
  options->metrics_interval_ms = metrics_interval_ms;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetricsConfig(TRITONSERVER_ServerOptions* options,
                                                               const char* name, const char* setting,
                                                               const char* value) {
  if (any_null(options, name, setting, value)) return null_argument(__func__);
  return stored([&] { options->metrics_settings[name][setting] = value; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBackendDirectory(TRITONSERVER_ServerOptions* options,
                                                                  const char* backend_dir) {
  if (any_null(options, backend_dir)) return null_argument(__func__);
  return stored([&] { options->backend_directory = backend_dir; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetRepoAgentDirectory(TRITONSERVER_ServerOptions* options,
                                                                    const char* repoagent_dir) {
  if (any_null(options, repoagent_dir)) return null_argument(__func__);
  return stored([&] { options->agent_directory = repoagent_dir; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBackendConfig(TRITONSERVER_ServerOptions* options,
                                                               const char* backend_name, const char* setting,
                                                               const char* value) {
  if (any_null(options, backend_name, setting, value)) return null_argument(__func__);
  return stored([&] { options->backend_settings[backend_name][setting] = value; });
}
