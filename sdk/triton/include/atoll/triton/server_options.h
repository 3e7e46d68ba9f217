/// What a TRITONSERVER_ServerOptions* points to: how a program wants its server. Setters store it and nothing else;
/// whoever makes the server acts on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "triton/core/tritonserver.h"

/// With the defaults of that protocol, which are not those of its server program. Not for two threads at a time.
struct TRITONSERVER_ServerOptions {
  /// Settings of one backend, host policy or metrics by their names, in their order; later values replace earlier.
  using Settings = std::map<std::string, std::string>;

  std::string server_id = "triton";
  std::vector<std::string> repositories;
  TRITONSERVER_ModelControlMode control_mode = TRITONSERVER_MODEL_CONTROL_POLL;
  std::vector<std::string> startup_models;
  bool strict_config = true;  ///< configurations are not completed
  std::string config_name;    ///< of the file in a model's configs/; empty: config.pbtxt
  bool strict_readiness = true;
  bool exit_on_error = true;
  bool namespacing = false;
  bool peer_access = true;
  uint32_t exit_timeout_s = 30;

  TRITONSERVER_RateLimitMode rate_limit_mode = TRITONSERVER_RATE_LIMIT_OFF;
  /// Copies of resources by device, -1: on each; of one that was added again the fewest.
  std::map<int, std::map<std::string, uint64_t>> resources;

  uint64_t pinned_pool_bytes = uint64_t{256} << 20;
  std::map<int, uint64_t> cuda_pool_bytes;           ///< by device
  std::map<int, uint64_t> cuda_virtual_space_bytes;  ///< by device
  double min_compute_capability = 6.0;
  std::map<int, double> gpu_load_limits;  ///< parts of a device's memory that loads may fill, by device

  uint32_t buffer_threads = 0;
  uint32_t load_threads = 4;
  uint32_t load_retries = 0;

  /// Settings as JSON, by the name of the cache; of several the last.
  std::optional<std::pair<std::string, std::string>> cache;
  std::string cache_directory = "/opt/tritonserver/caches";
  std::string backend_directory = "/opt/tritonserver/backends";
  std::string agent_directory = "/opt/tritonserver/repoagents";
  std::map<std::string, Settings> backend_settings;  ///< by backend; empty: of all
  std::map<std::string, Settings> host_policies;
  std::map<std::string, Settings> metrics_settings;  ///< empty name: of all metrics

  bool metrics = true;
  bool gpu_metrics = true;
  bool cpu_metrics = true;
  uint64_t metrics_interval_ms = 2000;

  std::string log_file;  ///< empty: the console
  bool log_info = true;
  bool log_warn = true;
  bool log_error = true;
  uint32_t log_verbose = 0;
  TRITONSERVER_LogFormat log_format = TRITONSERVER_LOG_DEFAULT;
};
