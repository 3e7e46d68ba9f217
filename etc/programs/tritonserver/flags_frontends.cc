#include <algorithm>
#include <iterator>
#include <string>

#include "flag.h"
#include "values.h"

namespace atl::tritonserver {
namespace {

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kBytesMin = 1024;
constexpr int64_t kBytesMax = int64_t{1} << 40;

Status read_on(FlagUse& use, bool* on) {
  auto value = parse_bool(use.value);
  if (!value.ok()) return std::move(value).status();
  *on = *value;
  return {};
}

template <EndpointAddress LaunchOptions::*kEndpoint>
Status read_allowed(FlagUse& use) {
  (use.options.*kEndpoint).is_given = true;
  return read_on(use, &(use.options.*kEndpoint).allowed);
}
/// Which ports and addresses can be listened on counts only for endpoints that are allowed: see launch.h.
template <EndpointAddress LaunchOptions::*kEndpoint>
Status read_port(FlagUse& use) {
  auto value = parse_integer(use.value);
  if (!value.ok()) return std::move(value).status();
  (use.options.*kEndpoint).port = *value;
  return {};
}
template <EndpointAddress LaunchOptions::*kEndpoint>
Status read_address(FlagUse& use) {
  (use.options.*kEndpoint).address = use.value;
  return {};
}

Status read_input_size(FlagUse& use) {
  auto bytes =
      parse_integer(use.value, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  if (!bytes.ok()) return std::move(bytes).status();
  if (*bytes <= 0) return invalid_argument("Error: --http-max-input-size must be greater than 0.");
  if (*bytes < kBytesMin || *bytes > kBytesMax) {
    return invalid_argument("found ", *bytes, ", expected ", kBytesMin, " to ", kBytesMax);
  }
  use.options.keys.set("plugin.http.max_input_size", *bytes);
  return {};
}

Status read_infer_threads(FlagUse& use) {
  auto threads = parse_integer(use.value);
  if (!threads.ok()) return std::move(threads).status();
  if (*threads < 2 || *threads > 128) {
    return invalid_argument("invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.");
  }
  use.options.keys.set("plugin.grpc.threads", *threads);
  return {};
}

Status read_response_pool(FlagUse& use) {
  auto size = parse_integer(use.value);
  if (!size.ok()) return std::move(size).status();
  if (*size <= 0) return invalid_argument("Error: --grpc-max-response-pool-size must be greater than 0.");
  use.options.keys.set("plugin.grpc.max_response_pool_size", *size);
  return {};
}

Status read_mutual(FlagUse& use) {
  bool on = false;
  ATOLL_RETURN_IF_ERROR(read_on(use, &on));
  use.options.keys.set("plugin.grpc.use_ssl", true);  // given at all, it asks for TLS
  use.options.keys.set("plugin.grpc.use_ssl_mutual", on);
  return {};
}

Status read_compression(FlagUse& use) {
  std::string level(use.value);
  constexpr std::string_view kLevels[] = {"none", "low", "medium", "high"};
  if (std::ranges::find(kLevels, level) == std::end(kLevels)) {
    return not_one_of("invalid argument for --grpc_infer_response_compression_level", level, kLevels);
  }
  use.options.keys.set("plugin.grpc.response_compression", level);
  return {};
}

/// One group of calls that need a key. What may be the secret is not shown. \param word  "api" or "protocol";
/// \param taken  the categories of the groups before.
Status read_restricted(FlagUse& use, std::string_view word, std::string_view key,
                       std::set<std::string, std::less<>>& taken) {
  size_t equals = use.value.find('=');
  std::string_view left = use.value.substr(0, equals);
  size_t colon = left.find(':');
  bool good = equals != std::string_view::npos && equals + 1 < use.value.size() && colon != 0 &&
              colon != std::string_view::npos && colon + 1 < left.size();
  if (!good) {
    return invalid_argument("--", use.name, " option format is '<config name>:<setting>=<value>'. Got ", left,
                            equals == std::string_view::npos ? "" : "=...");
  }
  constexpr std::string_view kCategories[] = {"health",        "metadata",     "inference",
                                              "shared-memory", "model-config", "model-repository",
                                              "statistics",    "trace",        "logging"};
  for (std::string_view name : split(left.substr(0, colon), ',')) {
    if (std::find(std::begin(kCategories), std::end(kCategories), name) == std::end(kCategories)) {
      return not_one_of(cat("unknown restricted ", word), name, kCategories);
    }
    if (!taken.emplace(name).second) {
      return invalid_argument("restricted ", word, " '", name,
                              "' can not be specified in multiple config groups");
    }
  }
  use.options.keys.add(key, use.value);
  return {};
}

Status read_restricted_api(FlagUse& use) {
  return read_restricted(use, "api", "plugin.keys.restricted_apis", use.options.restricted_apis);
}
Status read_restricted_protocol(FlagUse& use) {
  return read_restricted(use, "protocol", "plugin.keys.restricted_protocols",
                         use.options.restricted_protocols);
}

/// "0.5:0.05,0.9:0.01". As with all numbers, a leading one is enough: "0.0.1" is 0.0.
Status read_quantiles(FlagUse& use, std::string_view text) {
  std::vector<std::string> quantiles;
  for (std::string_view pair : split(text, ',')) {
    const size_t colon = pair.find(':');
    if (colon == std::string_view::npos) {
      use.options.warn("Invalid option: [", pair,
                       "]. No ':' delimiter found. Expected format is <quantile>:<error>");
      continue;
    }
    auto quantile = parse_number(pair.substr(0, colon));
    if (!quantile.ok()) return std::move(quantile).status();
    auto error = parse_number(pair.substr(colon + 1));
    if (!error.ok()) return std::move(error).status();
    quantiles.push_back(cat(*quantile, ":", *error));
  }
  if (!quantiles.empty()) use.options.keys.set("plugin.metrics.summary_quantiles", std::move(quantiles));
  return {};
}

Status read_metrics_interval(FlagUse& use) {
  auto value = parse_integer(use.value);
  if (!value.ok()) return std::move(value).status();
  if (*value < 1 || *value > kHourMs) return invalid_argument("found ", *value, ", expected 1 to ", kHourMs);
  for (const char* key : {"plugin.metrics.interval", "plugin.nvml.interval"})
    use.options.keys.set(key, cat(*value, "ms"));
  return {};
}

Status read_metrics_config(FlagUse& use) {
  size_t equals = use.value.find('=');
  std::string_view name = use.value.substr(0, equals);
  bool good = equals != std::string_view::npos && equals != 0 && equals + 1 < use.value.size() &&
              name.find(',') == std::string_view::npos;
  if (!good) {
    return invalid_argument("--metrics-config option format is <setting>=<value>. Got ", use.value);
  }
  std::string_view value = use.value.substr(equals + 1);
  if (name == "counter_latencies") {
    use.options.keys.set("plugin.metrics.counter_latencies", value != "false");
  } else if (name == "summary_latencies" || name == "histogram_latencies") {
    use.options.keys.set(cat("plugin.metrics.", name), value == "true");
  } else if (name == "summary_quantiles") {
    return read_quantiles(use, value);
  } else {
    use.options.warn("--metrics-config ", name, " is not known and has no effect");
  }
  return {};
}

template <CloudEndpoint LaunchOptions::*kEndpoint>
Status read_cloud_allowed(FlagUse& use) {
  bool on = false;
  ATOLL_RETURN_IF_ERROR(read_on(use, &on));
  (use.options.*kEndpoint).allowed = on;
  return {};
}
template <CloudEndpoint LaunchOptions::*kEndpoint>
Status read_cloud_port(FlagUse& use) {
  auto value = parse_integer(use.value);
  if (!value.ok()) return std::move(value).status();
  (use.options.*kEndpoint).port = *value;
  return {};
}
template <CloudEndpoint LaunchOptions::*kEndpoint>
Status read_cloud_threads(FlagUse& use) {
  constexpr int64_t kThreadsMax = 128;
  auto value = parse_integer(use.value);
  if (!value.ok()) return std::move(value).status();
  if (*value < 1 || *value > kThreadsMax)
    return invalid_argument("--", use.name, ": found ", *value, ", expected 1 to ", kThreadsMax);
  (use.options.*kEndpoint).threads = *value;
  return {};
}
Status read_safe_ports(FlagUse& use) {
  use.options.sagemaker_ports = use.value;
  return {};
}
Status read_vertex_model(FlagUse& use) {
  use.options.vertex_ai.default_model = use.value;
  return {};
}

constexpr Flag kFrontendFlags[] = {
    {Group::kHttp, "allow-http", "<boolean>", "Whether HTTP is served. Default: true.",
     read_by(read_allowed<&LaunchOptions::http>, "plugin.http.enabled")},
    {Group::kHttp, "http-address", "<string>",
     "Address that HTTP listens on. Default: ATOLL_LISTEN_ADDRESS of the environment, or 127.0.0.1.",
     read_by(read_address<&LaunchOptions::http>, "plugin.http.address")},
    {Group::kHttp, "http-port", "<integer>", "Port of HTTP; 0 takes a free one. Default: 8000.",
     read_by(read_port<&LaunchOptions::http>, "plugin.http.address")},
    {Group::kHttp, "reuse-http-port", "<boolean>",
     "Whether other servers may share the port. Default: false.",
     must_be_off("the HTTP port is this server's alone; put a load balancer before several servers")},
    {Group::kHttp, "http-header-forward-pattern", "<string>",
     "RE2 pattern: matching headers of infer calls become parameters of their requests.",
     sets("plugin.http.header_forward_pattern", ValueType::kText)},
    {Group::kHttp, "http-thread-count", "<integer>",
     "Threads that serve HTTP, 1 to 128. Default: a CPU each, at most 8.",
     sets("plugin.http.threads", ValueType::kInteger, 1, 128)},
    {Group::kHttp, "http-max-input-size", "<integer>",
     "Largest body of a request in bytes, 1024 to 1099511627776. Default: 67108864.",
     read_by(read_input_size, "plugin.http.max_input_size")},
    {Group::kHttp, "http-restricted-api", "<string>:<string>=<string>",
     "Calls that need a header: <category>,<category>:<header>=<value>. Categories: health, metadata, "
     "inference, shared-memory, model-config, model-repository, statistics, trace, logging. May be given "
     "more than once.",
     read_by(read_restricted_api, "plugin.keys.restricted_apis")},

    {Group::kGrpc, "allow-grpc", "<boolean>", "Whether gRPC is served. Default: true.",
     read_by(read_allowed<&LaunchOptions::grpc>, "plugin.grpc.enabled")},
    {Group::kGrpc, "grpc-address", "<string>",
     "Address that gRPC listens on. Default: ATOLL_LISTEN_ADDRESS of the environment, or 127.0.0.1.",
     read_by(read_address<&LaunchOptions::grpc>, "plugin.grpc.address")},
    {Group::kGrpc, "grpc-port", "<integer>", "Port of gRPC; 0 takes a free one. Default: 8001.",
     read_by(read_port<&LaunchOptions::grpc>, "plugin.grpc.address")},
    {Group::kGrpc, "reuse-grpc-port", "<boolean>",
     "Whether other servers may share the port. Default: false.",
     sets("plugin.grpc.reuse_port", ValueType::kBool)},
    {Group::kGrpc, "grpc-header-forward-pattern", "<string>",
     "RE2 pattern: matching metadata of infer calls becomes parameters of their requests.",
     sets("plugin.grpc.header_forward_pattern", ValueType::kText)},
    {Group::kGrpc, "grpc-infer-thread-count", "<integer>",
     "Threads that serve gRPC, 2 to 128. Default: a CPU each, at most 8.",
     read_by(read_infer_threads, "plugin.grpc.threads")},
    {Group::kGrpc, "grpc-infer-allocation-pool-size", "<integer>",
     "Request objects kept for reuse. Default: 8.",
     has_no_effect(ValueType::kInteger, "requests' memory is always reused")},
    {Group::kGrpc, "grpc-max-response-pool-size", "<integer>",
     "Responses of one decoupled request that may wait to be written; with one more the request is "
     "cancelled. Default: 2147483647.",
     read_by(read_response_pool, "plugin.grpc.max_response_pool_size")},
    {Group::kGrpc, "grpc-use-ssl", "<boolean>", "Whether connections use TLS. Default: false.",
     sets("plugin.grpc.use_ssl", ValueType::kBool)},
    {Group::kGrpc, "grpc-use-ssl-mutual", "<boolean>",
     "Whether clients must present a certificate; implies --grpc-use-ssl, also when false. Default: false.",
     read_by(read_mutual, "plugin.grpc.use_ssl_mutual, plugin.grpc.use_ssl")},
    {Group::kGrpc, "grpc-server-cert", "<string>", "PEM file with the server's certificate chain.",
     sets("plugin.grpc.server_cert", ValueType::kText)},
    {Group::kGrpc, "grpc-server-key", "<string>", "PEM file with the server's private key.",
     sets("plugin.grpc.server_key", ValueType::kText)},
    {Group::kGrpc, "grpc-root-cert", "<string>", "PEM file with the certificates that may sign clients'.",
     sets("plugin.grpc.root_cert", ValueType::kText)},
    {Group::kGrpc, "grpc-infer-response-compression-level", "<string>",
     "Compression of inference responses: none, low, medium or high. Default: none.",
     read_by(read_compression, "plugin.grpc.response_compression")},
    {Group::kGrpc, "grpc-keepalive-time", "<integer>",
     "Milliseconds without traffic after which the server pings. Default: 7200000.",
     sets("plugin.grpc.keepalive_time", ValueType::kMilliseconds, 1, kInt32Max)},
    {Group::kGrpc, "grpc-keepalive-timeout", "<integer>",
     "Milliseconds to wait for the answer to a ping. Default: 20000.",
     sets("plugin.grpc.keepalive_timeout", ValueType::kMilliseconds, 1, kInt32Max)},
    {Group::kGrpc, "grpc-keepalive-permit-without-calls", "<boolean>",
     "Whether pings are sent on connections without calls. Default: false.",
     sets("plugin.grpc.keepalive_permit_without_calls", ValueType::kBool)},
    {Group::kGrpc, "grpc-http2-max-pings-without-data", "<integer>",
     "Pings sent without data between them; 0: any number. Default: 2.",
     sets("plugin.grpc.http2_max_pings_without_data", ValueType::kInteger, 0, kInt32Max)},
    {Group::kGrpc, "grpc-http2-min-recv-ping-interval-without-data", "<integer>",
     "Milliseconds that must pass between a client's pings without data. Default: 300000.",
     sets("plugin.grpc.http2_min_recv_ping_interval_without_data", ValueType::kMilliseconds, 0, kInt32Max)},
    {Group::kGrpc, "grpc-http2-max-ping-strikes", "<integer>",
     "Too early pings of a client before its connection is closed; 0: any number. Default: 2.",
     sets("plugin.grpc.http2_max_ping_strikes", ValueType::kInteger, 0, kInt32Max)},
    {Group::kGrpc, "grpc-max-connection-age", "<integer>",
     "Milliseconds after which a connection is asked to end; 0: never. Default: 0.",
     sets("plugin.grpc.max_connection_age", ValueType::kMilliseconds, 0, kInt32Max)},
    {Group::kGrpc, "grpc-max-connection-age-grace", "<integer>",
     "Milliseconds that calls then get to end; 0: until they are done. Default: 0.",
     sets("plugin.grpc.max_connection_age_grace", ValueType::kMilliseconds, 0, kInt32Max)},
    {Group::kGrpc, "grpc-restricted-protocol", "<string>:<string>=<string>",
     "Calls that need metadata: <category>,<category>:<key>=<value>, sent as triton-grpc-protocol-<key>. "
     "Categories as for HTTP. May be given more than once.",
     read_by(read_restricted_protocol, "plugin.keys.restricted_protocols")},

    {Group::kSagemaker, "allow-sagemaker", "<boolean>",
     "Whether SageMaker's calls /ping and /invocations are served, on an address of their own. Default: false. The model of "
     "/invocations is SAGEMAKER_TRITON_DEFAULT_MODEL_NAME of the environment, or the only one. With SAGEMAKER_MULTI_MODEL=true "
     "and --model-control-mode=explicit also those that load and unload models.",
     read_by(read_cloud_allowed<&LaunchOptions::sagemaker>, "plugin.sagemaker.use")},
    {Group::kSagemaker, "sagemaker-port", "<integer>",
     "Port of SageMaker's calls; 0 takes a free one. Default: 8080. Its address is that of HTTP.",
     read_by(read_cloud_port<&LaunchOptions::sagemaker>, "plugin.http_sagemaker.address")},
    {Group::kSagemaker, "sagemaker-safe-port-range", "<integer>-<integer>",
     "Range that the port of SageMaker's calls has to be in.", read_by(read_safe_ports, "")},
    {Group::kSagemaker, "sagemaker-thread-count", "<integer>",
     "Threads of SageMaker's calls, 1 to 128. Default: 8.",
     read_by(read_cloud_threads<&LaunchOptions::sagemaker>, "plugin.http_sagemaker.threads")},

    {Group::kVertex, "allow-vertex-ai", "<boolean>",
     "Whether Vertex AI's calls are served, on an address of their own, by AIP_HEALTH_ROUTE (/health) and AIP_PREDICT_ROUTE "
     "(/predict) of the environment. Default: true with AIP_MODE=PREDICTION in the environment, which switches HTTP and gRPC "
     "off unless flags say otherwise, else false.",
     read_by(read_cloud_allowed<&LaunchOptions::vertex_ai>, "plugin.vertex_ai.use")},
    {Group::kVertex, "vertex-ai-port", "<integer>",
     "Port of Vertex AI's calls; 0 takes a free one. Default: AIP_HTTP_PORT of the environment, or 8080. Its address is that "
     "of HTTP.",
     read_by(read_cloud_port<&LaunchOptions::vertex_ai>, "plugin.http_vertex_ai.address")},
    {Group::kVertex, "vertex-ai-thread-count", "<integer>",
     "Threads of Vertex AI's calls, 1 to 128. Default: 8.",
     read_by(read_cloud_threads<&LaunchOptions::vertex_ai>, "plugin.http_vertex_ai.threads")},
    {Group::kVertex, "vertex-ai-default-model", "<string>",
     "Model of Vertex AI's predictions. Default: the only one of the repositories.",
     read_by(read_vertex_model, "plugin.vertex_ai.default_model")},

    {Group::kMetrics, "allow-metrics", "<boolean>", "Whether metrics are served. Default: true.",
     read_by(read_allowed<&LaunchOptions::metrics>, "plugin.metrics.enabled")},
    {Group::kMetrics, "allow-gpu-metrics", "<boolean>", "Whether metrics of GPUs are served. Default: true.",
     sets("plugin.nvml.enabled", ValueType::kBool)},
    {Group::kMetrics, "allow-cpu-metrics", "<boolean>",
     "Whether processor and memory use are served. Default: true.",
     sets("plugin.metrics.cpu_metrics", ValueType::kBool)},
    {Group::kMetrics, "metrics-address", "<string>", "Address of metrics. Default: that of HTTP.",
     read_by(read_address<&LaunchOptions::metrics>, "plugin.metrics.address")},
    {Group::kMetrics, "metrics-port", "<integer>", "Port of metrics; 0 takes a free one. Default: 8002.",
     read_by(read_port<&LaunchOptions::metrics>, "plugin.metrics.address")},
    {Group::kMetrics, "metrics-interval-ms", "<number>",
     "Milliseconds, 1 to 3600000; every half of them processor and memory use are sampled, and GPUs at most once in "
     "them. Default: 2000.",
     read_by(read_metrics_interval, "plugin.metrics.interval, plugin.nvml.interval")},
    {Group::kMetrics, "metrics-config", "<string>=<string>",
     "counter_latencies, summary_latencies or histogram_latencies, =true or false; "
     "summary_quantiles=<quantile>:<error>,... May be given more than once.",
     read_by(read_metrics_config, "plugin.metrics.*")},
};

}  // namespace

std::span<const Flag> frontend_flags() { return kFrontendFlags; }

}  // namespace atl::tritonserver
