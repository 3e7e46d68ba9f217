/// What a command line asks for, as far as it has been read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/runtime/manifest_keys.h"

namespace atl::tritonserver {

/// One endpoint's address, which three flags make together.
struct EndpointAddress {
  bool allowed = true;
  std::string address;
  int64_t port = 0;
  bool is_given = false;  ///< a flag says whether it is allowed
};

/// An endpoint that a cloud calls. It has HTTP's address.
struct CloudEndpoint {
  static constexpr int64_t kPort = 8080, kThreads = 8;
  std::optional<bool> allowed;  ///< null: no flag says it
  std::optional<int64_t> port;
  int64_t threads = kThreads;
  std::string default_model;
};

struct TraceOptions {
  std::vector<std::string> level;
  /// Keys of telemetry/trace that the flags gave, as they are written into the manifest.
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, int64_t, std::less<>> numbers;
  std::vector<std::string> resource;
};

/// What flags say of GPUs; null and empty: nothing.
struct GpuOptions {
  std::optional<int64_t> pinned_bytes;
  std::map<int64_t, int64_t> pool_bytes;     ///< by GPU
  std::map<int64_t, int64_t> address_bytes;  ///< by GPU
  std::optional<double> min_capability;
};

/// A variable of the environment; null: there is none.
using EnvironmentLookup = std::function<const char*(const char*)>;

/// Filled flag by flag (flag.h), then judged and turned into atoll's arguments (launch.h). What one flag says
/// alone is in `keys` already; the rest waits here for the others.
struct LaunchOptions {
  runtime::ManifestKeys keys;
  std::vector<std::string> warnings;
  std::vector<std::string> refusals;  ///< flags that are not served, each with the reason

  std::vector<std::string> repositories;
  std::string_view repository_source = "--model-repository";  ///< what names them
  std::string_view repository_hint;                           ///< what else may, of which nothing came
  bool exit_on_error = true;
  bool follows_links = true;
  bool passes_environment = true;   ///< to Python models
  std::optional<bool> namespacing;  ///< null: no flag says it
  bool opens_early = false;         ///< its ports, before the models of the start are decided
  std::string control_mode = "none";
  int64_t poll_seconds = 15;
  std::vector<std::string> load_models;

  int64_t log_verbose = 0;
  bool log_info = true;
  bool log_warning = true;

  EndpointAddress http{true, "127.0.0.1", 8000};
  EndpointAddress grpc{true, "127.0.0.1", 8001};
  EndpointAddress metrics{true, "", 8002};  ///< empty address: that of HTTP

  std::set<std::string, std::less<>> restricted_apis;       ///< categories that need a header
  std::set<std::string, std::less<>> restricted_protocols;  ///< and metadata

  bool rate_limit = false;
  std::vector<std::string> rate_limit_resources;

  std::optional<std::string> backend_directory;  ///< of what was made for Triton; null: not given
  std::optional<std::string> agent_directory;
  std::optional<std::string> cache_directory;

  /// Settings by cache; more than one cache is an error.
  std::map<std::string, std::map<std::string, std::string>, std::less<>> caches;
  std::string old_cache_size;  ///< of --response-cache-byte-size; empty: not given

  GpuOptions gpus;

  TraceOptions trace;
  TraceOptions deprecated_trace;   ///< of the deprecated flags, which --trace-config overrides
  TraceOptions environment_trace;  ///< of the environment, which both override

  CloudEndpoint sagemaker, vertex_ai;
  std::string sagemaker_ports;  ///< "8080-8090": where its port has to lie; empty: anywhere

  template <class... Parts>
  void warn(const Parts&... parts) {
    warnings.push_back(cat(parts...));
  }
  template <class... Parts>
  void refuse(const Parts&... parts) {
    refusals.push_back(cat(parts...));
  }
};

}  // namespace atl::tritonserver
