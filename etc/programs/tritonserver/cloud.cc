#include "cloud.h"

#include <string_view>
#include <utility>
#include <vector>

#include "values.h"

namespace atl::tritonserver {
namespace {

constexpr std::string_view kHealthRoute = "/health", kPredictRoute = "/predict";

/// "" where the variable is not there.
std::string variable(const LaunchContext& context, const char* name) {
  const char* value = context.environment(name);
  return value == nullptr ? "" : value;
}

/// A frontend of HTTP that answers these paths only, and the plugin that has them.
void add_endpoint(LaunchOptions& options, const char* instance, const CloudEndpoint& endpoint, int64_t port,
                  std::vector<std::string> paths) {
  runtime::ManifestKeys& keys = options.keys;
  keys.set(cat("plugin.", instance, ".use"), cat("frontends/", instance));
  if (!endpoint.default_model.empty())
    keys.set(cat("plugin.", instance, ".default_model"), endpoint.default_model);
  const std::string frontend = cat("plugin.http_", instance);
  keys.set(cat(frontend, ".use"), "frontends/http");
  keys.set(cat(frontend, ".address"), address_text({true, options.http.address, port}));
  keys.set(cat(frontend, ".threads"), endpoint.threads);
  keys.set(cat(frontend, ".only_routes"), std::move(paths));
  if (!options.opens_early) keys.set(cat(frontend, ".open_after_startup"), true);
}

Status set_sagemaker(LaunchOptions& options, const LaunchContext& context) {
  CloudEndpoint& endpoint = options.sagemaker;
  if (!endpoint.allowed.value_or(false)) return {};
  need_plugin(options, context, "--allow-sagemaker=true", "frontends/sagemaker");
  const int64_t port = endpoint.port.value_or(CloudEndpoint::kPort);
  ATOLL_RETURN_IF_ERROR(check_port("--sagemaker-port", port));
  if (!options.sagemaker_ports.empty()) {
    constexpr std::string_view kFlag = "--sagemaker-safe-port-range";
    const std::vector<std::string_view> ends = split(options.sagemaker_ports, '-');
    if (ends.size() != 2)
      return invalid_argument(kFlag, ": found '", options.sagemaker_ports, "', expected <integer>-<integer>");
    Result<int64_t> low = parse_integer(ends[0]), high = parse_integer(ends[1]);
    if (!low.ok()) return low.status().clone();
    if (!high.ok()) return high.status().clone();
    if (*low > *high)
      return invalid_argument(kFlag, ": found '", options.sagemaker_ports,
                              "', expected the lower port first");
    if (port < *low || port > *high) {
      return invalid_argument("--sagemaker-port: found ", port, ", expected a port from ", *low, " to ",
                              *high, ", as ", kFlag, " says");
    }
  }
  endpoint.default_model = variable(context, "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME");
  std::vector<std::string> paths = {"/ping", "/invocations"};
  const std::string multi = lower(variable(context, "SAGEMAKER_MULTI_MODEL"));
  if (!multi.empty() && multi != "true" && multi != "false")
    return invalid_argument("SAGEMAKER_MULTI_MODEL: found '", multi, "', expected true or false");
  if (multi == "true") {
    if (options.control_mode != "explicit") {
      options.refuse(
          "SAGEMAKER_MULTI_MODEL=true is not served: SageMaker loads the models, which needs --model-control-mode=explicit");
    }
    options.keys.set("plugin.sagemaker.multi_model", true);
    // Archives may have members of one name.
    if (!options.namespacing) options.namespacing = true;
    paths.insert(paths.end(), {"/models", "/models/*"});
  }
  add_endpoint(options, "sagemaker", endpoint, port, std::move(paths));
  return {};
}

Status set_vertex_ai(LaunchOptions& options, const LaunchContext& context) {
  CloudEndpoint& endpoint = options.vertex_ai;
  if (!endpoint.allowed.value_or(false)) return {};
  need_plugin(options, context, "--allow-vertex-ai=true", "frontends/vertex_ai");
  int64_t port = endpoint.port.value_or(CloudEndpoint::kPort);
  if (const std::string text = variable(context, "AIP_HTTP_PORT"); !endpoint.port && !text.empty()) {
    Result<int64_t> given = parse_integer(text);
    if (!given.ok()) return invalid_argument("AIP_HTTP_PORT: ", given.status().message());
    port = *given;
  }
  ATOLL_RETURN_IF_ERROR(check_port(endpoint.port ? "--vertex-ai-port" : "AIP_HTTP_PORT", port));
  std::string health = variable(context, "AIP_HEALTH_ROUTE"),
              predict = variable(context, "AIP_PREDICT_ROUTE");
  if (health.empty()) health = kHealthRoute;
  if (predict.empty()) predict = kPredictRoute;
  for (const auto& [name, route] :
       {std::pair("AIP_HEALTH_ROUTE", &health), {"AIP_PREDICT_ROUTE", &predict}}) {
    if (!route->starts_with('/'))
      return invalid_argument(name, ": found '", *route, "', expected a path such as /health");
  }
  options.keys.set("plugin.vertex_ai.health_route", health);
  options.keys.set("plugin.vertex_ai.predict_route", predict);
  add_endpoint(options, "vertex_ai", endpoint, port, {health, predict});
  return {};
}

}  // namespace

void read_cloud_environment(LaunchOptions& options, const LaunchContext& context) {
  const bool predicts = variable(context, "AIP_MODE") == "PREDICTION";
  if (!options.vertex_ai.allowed) options.vertex_ai.allowed = predicts;
  if (predicts && *options.vertex_ai.allowed) {
    for (EndpointAddress* endpoint : {&options.http, &options.grpc}) {
      if (!endpoint->is_given) endpoint->allowed = false;
    }
  }
  const std::string storage = variable(context, "AIP_STORAGE_URI");
  if (*options.vertex_ai.allowed && options.repositories.empty() && !storage.empty())
    options.repositories.push_back(storage);
  if (*options.vertex_ai.allowed && options.repositories.empty())
    options.repository_hint = ", or AIP_STORAGE_URI of the environment,";
  if (!storage.empty() && options.repositories == std::vector<std::string>{storage})
    options.repository_source = "AIP_STORAGE_URI";
}

Status set_clouds(LaunchOptions& options, const LaunchContext& context) {
  ATOLL_RETURN_IF_ERROR(set_sagemaker(options, context));
  return set_vertex_ai(options, context);
}

}  // namespace atl::tritonserver
