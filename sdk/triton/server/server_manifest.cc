#include "server/server_manifest.h"

#include <algorithm>

#include "atoll/runtime/cache_keys.h"
#include "atoll/runtime/manifest_keys.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;
using runtime::ManifestKeys;
using Options = TRITONSERVER_ServerOptions;

void use(ManifestKeys& keys, std::string_view instance, std::string_view plugin) {
  keys.set(cat("plugin.", instance, ".use"), plugin);
}

/// What is used if there is a file of that name.
class WhatIsThere {
 public:
  WhatIsThere(ManifestKeys& keys, const fs::path& plugins) : keys_(keys), plugins_(plugins) {}
  bool operator()(std::string_view instance, std::string_view plugin) const {
    std::error_code ignored;
    const bool there = fs::exists(plugins_ / cat(plugin, ".so"), ignored);
    if (there) use(keys_, instance, plugin);
    return there;
  }

 private:
  ManifestKeys& keys_;
  const fs::path& plugins_;
};

std::string bytes_text(uint64_t bytes) { return cat(bytes, "B"); }

/// Plugins without which there are only fewer kinds of models.
void use_what_is_there(ManifestKeys& keys, const Options& options, const WhatIsThere& use_if_there) {
  uint64_t most_addresses = 0;
  for (const auto& [gpu, bytes] : options.cuda_virtual_space_bytes)
    most_addresses = std::max(most_addresses, bytes);
  for (std::string_view name : {"sequence_direct", "sequence_oldest"}) {
    if (!use_if_there(name, cat("schedulers/", name)) || options.cuda_virtual_space_bytes.empty()) continue;
    keys.set(cat("plugin.", name, ".growable_state"), bytes_text(most_addresses));
  }
  use_if_there("ensemble", "schedulers/ensemble");
  if (use_if_there("dynamic", "schedulers/dynamic")) {
    keys.set("plugin.dynamic.backend_directory", options.backend_directory);
  }
  for (std::string_view name : {"identity", "repeat", "onnxruntime", "pytorch"}) {
    use_if_there(name, cat("backends/", name));
  }
  if (use_if_there("triton", "backends/triton")) {
    keys.add("plugin.triton.directories", options.backend_directory);
  }
  if (use_if_there("python", "backends/python")) {
    keys.add("plugin.python.directories", options.backend_directory);
    keys.add("plugin.python.environment", "*");  // models read what the program was started with
  }
  if (use_if_there("agents", "agents/triton")) {
    keys.add("plugin.agents.directories", options.agent_directory);
  }
}

/// Without a driver these do nothing but say so.
void set_gpus(ManifestKeys& keys, const Options& options, const WhatIsThere& use_if_there) {
  constexpr double kCapabilityMax = 99;
  for (const auto& [gpu, fraction] : options.gpu_load_limits) {
    keys.put("plugin.models.gpu_load_limit", cat(gpu), cat(fraction));
  }
  if (!use_if_there("gpus", "memory/cuda")) return;
  // What is not a number is below all of them.
  const double capability =
      options.min_compute_capability > 0 ? std::min(options.min_compute_capability, kCapabilityMax) : 0.0;
  keys.set("plugin.gpus.min_compute_capability", capability);
  keys.set("plugin.configs.min_compute_capability", capability);
  keys.put("plugin.models.backend_settings", "min-compute-capability", std::to_string(capability));
  for (const auto& [gpu, bytes] : options.cuda_pool_bytes) {
    keys.put("plugin.gpus.kept_by_device", cat(gpu), bytes_text(bytes));
  }
  if (use_if_there("pinned", "memory/pinned")) {
    keys.set("plugin.pinned.size", bytes_text(options.pinned_pool_bytes));
  }
  use_if_there("cuda", "backends/cuda");
}

void set_repository(ManifestKeys& keys, const Options& options) {
  use(keys, "repository", "repositories/filesystem");
  for (const std::string& path : options.repositories) keys.add("plugin.repository.paths", path);
  keys.set("plugin.repository.allow_missing_paths", !options.exit_on_error);
  keys.set("plugin.repository.missing_paths_fail_health", !options.exit_on_error);
  keys.set("plugin.repository.config_name", options.config_name);
  keys.set("plugin.repository.namespacing", options.namespacing);
}

Status set_models(ManifestKeys& keys, const Options& options) {
  constexpr uint32_t kRetriesMax = 100;
  use(keys, "configs", "configs/pbtxt");
  use(keys, "models", "models/catalog");
  use(keys, "default", "schedulers/default");
  use(keys, "host", "memory/host");
  keys.set("plugin.models.strict_readiness", options.strict_readiness);
  keys.set("plugin.models.auto_complete_config", !options.strict_config);
  keys.set("plugin.models.namespacing", options.namespacing);
  keys.set("plugin.models.load_retry_count", int64_t{std::min(options.load_retries, kRetriesMax)});
  for (const auto& [backend, settings] : options.backend_settings) {
    for (const auto& [name, value] : settings) {
      // A key of the manifest is "<backend>.<setting>", or a setting of all backends.
      const std::string& first = backend.empty() ? name : backend;
      if (first.find('.') != std::string::npos) {
        return invalid_argument("backend config: found '", first, "', expected a name without a dot");
      }
      keys.put("plugin.models.backend_settings", backend.empty() ? name : cat(backend, ".", name), value);
    }
  }
  for (const auto& [policy, settings] : options.host_policies) {
    for (const auto& [name, value] : settings) {
      keys.put("plugin.models.host_policies", cat(policy, ".", name), value);
    }
  }
  return {};
}

void set_control(ManifestKeys& keys, const Options& options) {
  switch (options.control_mode) {
    case TRITONSERVER_MODEL_CONTROL_NONE:
      return use(keys, "control", "control/none");
    case TRITONSERVER_MODEL_CONTROL_POLL:
      return use(keys, "control", "control/poll");
    case TRITONSERVER_MODEL_CONTROL_EXPLICIT:
      break;
  }
  use(keys, "control", "control/explicit");
  for (const std::string& model : options.startup_models) keys.add("plugin.control.load_model", model);
}

void set_rate_limiter(ManifestKeys& keys, const Options& options) {
  if (options.rate_limit_mode == TRITONSERVER_RATE_LIMIT_OFF) return;
  use(keys, "rate_limiter", "admission/rate_limiter");
  for (const auto& [device, resources] : options.resources) {
    for (const auto& [name, count] : resources) {
      keys.add("plugin.rate_limiter.resources",
               device < 0 ? cat(name, ":", count) : cat(name, ":", count, ":", device));
    }
  }
}

Status set_cache(ManifestKeys& keys, const Options& options) {
  if (!options.cache) return {};
  const auto& [name, json] = *options.cache;
  Result<std::map<std::string, std::string>> settings = read_flat_json(json);
  if (!settings.ok()) return std::move(settings).status().note(cat("config of cache '", name, "'"));
  if (name == "local" && (*settings)["size"] == "0") return {};
  auto unknown = runtime::set_cache(keys, name, *settings, options.cache_directory);
  if (!unknown.ok()) return std::move(unknown).status();
  if (name == "local" || unknown->empty()) return {};
  return unimplemented("cache 'redis': found setting '", unknown->front(),
                       "', expected host, port, user or password");
}

void set_metrics(ManifestKeys& keys, const Options& options) {
  if (!options.metrics) return;
  constexpr uint64_t kHourMs = 3'600'000;
  use(keys, "metrics", "frontends/metrics");
  keys.set("plugin.metrics.listen", false);
  keys.set("plugin.metrics.cpu_metrics", options.cpu_metrics);
  keys.set("plugin.metrics.interval",
           cat(std::clamp(options.metrics_interval_ms, uint64_t{1}, kHourMs), "ms"));
  auto common = options.metrics_settings.find("");
  if (common == options.metrics_settings.end()) return;
  for (const auto& [name, value] : common->second) {
    if (name == "counter_latencies") keys.set("plugin.metrics.counter_latencies", value != "false");
    if (name == "summary_latencies" || name == "histogram_latencies") {
      keys.set(cat("plugin.metrics.", name), value == "true");
    }
    if (name == "summary_quantiles") {
      std::string_view rest = value;
      while (!rest.empty()) {
        std::string_view quantile = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(quantile.size() + 1, rest.size()));
        keys.add("plugin.metrics.summary_quantiles", quantile);
      }
    }
  }
}

/// The log has one level from which on records are written, and errors always are.
const char* log_level(const Options& options) {
  if (options.log_verbose > 1) return "trace";
  if (options.log_verbose == 1) return "debug";
  return options.log_info ? "info" : options.log_warn ? "warning" : "error";
}

void set_server(ManifestKeys& keys, const Options& options) {
  constexpr uint32_t kDayS = 86'400;
  constexpr int64_t kThreadsMax = 64;
  keys.set("atoll.drain_timeout", cat(std::min(options.exit_timeout_s, kDayS), "s"));
  keys.set("atoll.worker_threads", std::clamp(int64_t{options.load_threads}, int64_t{1}, kThreadsMax));
  keys.set("log.level", log_level(options));
  keys.set("log.file", options.log_file);
  keys.set("log.time_format", options.log_format == TRITONSERVER_LOG_ISO8601 ? "ISO8601" : "default");
  use(keys, "c_api", "frontends/c_api");
  keys.set("plugin.c_api.server_name", options.server_id);
}

}  // namespace

Result<std::map<std::string, std::string>> manifest_of(const Options& options, const fs::path& plugins) {
  if (options.repositories.empty()) return invalid_argument("--model-repository must be specified");
  ManifestKeys keys;
  set_server(keys, options);
  set_repository(keys, options);
  ATOLL_RETURN_IF_ERROR(set_models(keys, options));
  const WhatIsThere use_if_there(keys, plugins);
  use_what_is_there(keys, options, use_if_there);
  set_gpus(keys, options, use_if_there);
  set_control(keys, options);
  set_rate_limiter(keys, options);
  ATOLL_RETURN_IF_ERROR(set_cache(keys, options));
  set_metrics(keys, options);
  return keys.toml();
}

}  // namespace atl::triton
