#include "launch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "atoll/lib/default_manifest.h"
#include "atoll/runtime/cache_keys.h"
#include "atoll/runtime/escape.h"
#include "cloud.h"
#include "values.h"

namespace atl::tritonserver {
namespace {

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Why a plugin that is not there is of no use, with how to get it if a build says so in the plugin's place.
std::string is_missing(const LaunchContext& context, std::string_view plugin) {
  std::ifstream file(context.plugins / cat(plugin, ".missing"));
  std::string line;
  std::getline(file, line);
  return cat("it needs the plugin ", plugin, ", which is not in ", context.plugins.string(),
             line.empty() ? "" : "; ", line);
}

/// A failure that is told as it is, without the words for its code.
Status plain(std::string message) { return Status(Code::kFailedPrecondition, std::move(message)); }

/// An endpoint, its name in messages and that in flags and in the manifest.
struct Named {
  const char* word;
  const char* instance;
  const EndpointAddress* endpoint;
};

/// A kind of what was made for Triton.
struct Directory {
  const char* flag;
  const char* instance;
  const char* plugin;
  const char* folder;  ///< of an installed Triton
};

Status check_endpoint(const Named& named) {
  const EndpointAddress& endpoint = *named.endpoint;
  ATOLL_RETURN_IF_ERROR(check_port(cat("--", named.instance, "-port"), endpoint.port));
  if (endpoint.address.empty()) {
    return invalid_argument("--", named.instance,
                            "-address: found nothing, expected an address to listen on");
  }
  return {};
}

Status set_endpoints(LaunchOptions& options) {
  if (options.metrics.address.empty()) options.metrics.address = options.http.address;
  const Named all[] = {{"HTTP", "http", &options.http},
                       {"GRPC", "grpc", &options.grpc},
                       {"metrics", "metrics", &options.metrics}};
  for (const Named* a = std::begin(all); a != std::end(all); ++a) {
    const EndpointAddress& first = *a->endpoint;
    options.keys.set(cat("plugin.", a->instance, ".enabled"), first.allowed);
    if (!first.allowed) continue;
    ATOLL_RETURN_IF_ERROR(check_endpoint(*a));
    for (const Named* b = a + 1; b != std::end(all); ++b) {
      const EndpointAddress& second = *b->endpoint;
      bool same =
          second.allowed && first.port != 0 && first.port == second.port && first.address == second.address;
      if (!same) continue;
      return plain(cat("The server cannot listen to ", a->word, " requests and ", b->word,
                       " requests at the same address and port ", first.address, ":", first.port));
    }
    options.keys.set(cat("plugin.", a->instance, ".address"), address_text(first));
    if (!options.opens_early) options.keys.set(cat("plugin.", a->instance, ".open_after_startup"), true);
  }
  return {};
}

void set_log_level(LaunchOptions& options) {
  bool verbose = options.log_verbose > 0;
  if (!options.log_warning && (options.log_info || verbose)) {
    options.refuse(
        "--log-warning=false is not served beside informational records: the log has one level from which on "
        "records are written; add --log-info=false");
  } else if (!options.log_info && verbose) {
    options.refuse(
        "--log-info=false is not served beside --log-verbose: the log has one level from which on records "
        "are written; leave one of the two out");
  }
  const char* level = !options.log_warning ? "error" : !options.log_info ? "warning" : "info";
  if (verbose) level = options.log_verbose == 1 ? "debug" : "trace";
  options.keys.set("log.level", level);
}

Status set_control(LaunchOptions& options, const LaunchContext& context) {
  if (!options.load_models.empty() && options.control_mode != "explicit") {
    return plain("Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.");
  }
  if (options.control_mode == "none") return {};
  need_plugin(options, context, cat("--model-control-mode=", options.control_mode),
              cat("control/", options.control_mode));
  options.keys.set("plugin.control.use", cat("control/", options.control_mode));
  if (options.control_mode == "poll") {
    options.keys.set("plugin.control.interval", cat(options.poll_seconds, "s"));
  }
  const auto& models = options.load_models;
  bool all = std::find(models.begin(), models.end(), "*") != models.end();
  if (all && models.size() > 1) {
    return invalid_argument("Wildcard model name '*' must be the ONLY startup model if specified at all.");
  }
  for (const std::string& model : models) options.keys.add("plugin.control.load_model", model);
  return {};
}

void set_rate_limiter(LaunchOptions& options, const LaunchContext& context) {
  if (!options.rate_limit) {
    if (!options.rate_limit_resources.empty()) {
      options.warn("--rate-limit-resource has no effect without --rate-limit=execution_count");
    }
    return;
  }
  need_plugin(options, context, "--rate-limit=execution_count", "admission/rate_limiter");
  options.keys.set("plugin.rate_limiter.use", "admission/rate_limiter");
  for (const std::string& resource : options.rate_limit_resources) {
    options.keys.add("plugin.rate_limiter.resources", resource);
  }
}

/// The plugin for one kind of what was made for Triton, if a directory was given or an installed Triton has one.
/// \returns whether it is used
bool use_directory(LaunchOptions& options, const LaunchContext& context, const Directory& kind,
                   const std::optional<std::string>& given) {
  const std::filesystem::path usual = context.triton / kind.folder;
  if (given) {
    need_plugin(options, context, kind.flag, kind.plugin);
  } else if (!is_there(usual) || !is_there(context.plugins / cat(kind.plugin, ".so"))) {
    return false;
  }
  options.keys.set(cat("plugin.", kind.instance, ".use"), kind.plugin);
  options.keys.add(cat("plugin.", kind.instance, ".directories"), given ? *given : usual.string());
  return true;
}

void set_foreign(LaunchOptions& options, const LaunchContext& context) {
  if (options.backend_directory) {
    options.keys.set("plugin.dynamic.backend_directory", *options.backend_directory);
  }
  const bool backends =
      use_directory(options, context, {"--backend-directory", "triton", "backends/triton", "backends"},
                    options.backend_directory);
  // Those that are Python programs.
  if (is_there(context.plugins / "backends/python.so")) {
    if (options.passes_environment) options.keys.add("plugin.python.environment", "*");
    use_directory(options, context, {"--backend-directory", "python", "backends/python", "backends"},
                  options.backend_directory);
  }
  // By it backends ask other models.
  if (backends && is_there(context.plugins / "frontends/c_api.so")) {
    options.keys.set("plugin.c_api.use", "frontends/c_api");
  }
  use_directory(options, context, {"--repoagent-directory", "agents", "agents/triton", "repoagents"},
                options.agent_directory);
}

/// Whether a plugin that only some machines need is used. Flags that were given for it are told of if it is not.
bool use_if_there(LaunchOptions& options, const LaunchContext& context, const char* instance,
                  const char* plugin, std::initializer_list<std::pair<const char*, bool>> flags) {
  if (is_there(context.plugins / cat(plugin, ".so"))) {
    options.keys.set(cat("plugin.", instance, ".use"), plugin);
    return true;
  }
  for (const auto& [flag, is_given] : flags) {
    if (!is_given) continue;
    options.warn(flag, " has no effect: ", is_missing(context, plugin));
  }
  return false;
}

/// Without a driver the plugins do nothing but say so.
void set_gpus(LaunchOptions& options, const LaunchContext& context) {
  const GpuOptions& gpus = options.gpus;
  runtime::ManifestKeys& keys = options.keys;
  int64_t most_addresses = 0;
  for (const auto& [gpu, bytes] : gpus.address_bytes) most_addresses = std::max(most_addresses, bytes);
  for (const char* scheduler : {"sequence_direct", "sequence_oldest"}) {
    if (gpus.address_bytes.empty()) break;
    keys.set(cat("plugin.", scheduler, ".growable_state"), cat(most_addresses, "B"));
  }
  const bool are_used = use_if_there(options, context, "gpus", "memory/cuda",
                                     {{"--cuda-memory-pool-byte-size", !gpus.pool_bytes.empty()},
                                      {"--min-supported-compute-capability", gpus.min_capability.has_value()},
                                      {"--pinned-memory-pool-byte-size", gpus.pinned_bytes.has_value()}});
  if (!are_used) return;
  for (const auto& [gpu, bytes] : gpus.pool_bytes) {
    keys.put("plugin.gpus.kept_by_device", cat(gpu), cat(bytes, "B"));
  }
  if (gpus.min_capability) {
    keys.set("plugin.gpus.min_compute_capability", *gpus.min_capability);
    keys.set("plugin.configs.min_compute_capability", *gpus.min_capability);
    // Where backends made for Triton look for it.
    keys.put("plugin.models.backend_settings", "min-compute-capability",
             std::to_string(*gpus.min_capability));
  }
  const bool is_pinned = use_if_there(options, context, "pinned", "memory/pinned",
                                      {{"--pinned-memory-pool-byte-size", gpus.pinned_bytes.has_value()}});
  if (is_pinned && gpus.pinned_bytes) keys.set("plugin.pinned.size", cat(*gpus.pinned_bytes, "B"));
  use_if_there(options, context, "cuda", "backends/cuda", {});
}

Status set_cache(LaunchOptions& options, const LaunchContext& context) {
  if (!options.old_cache_size.empty()) {
    if (!options.caches.empty()) {
      return plain(
          "Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please "
          "provide one or the other.");
    }
    if (options.old_cache_size == "0") return {};
    options.caches["local"]["size"] = options.old_cache_size;
  }
  if (options.caches.empty()) {
    if (options.cache_directory) options.warn("--cache-directory has no effect without --cache-config");
    return {};
  }
  if (options.caches.size() > 1) {
    return invalid_argument(
        "found multiple cache configurations, but only a single cache is currently supported");
  }
  const auto& [name, settings] = *options.caches.begin();
  const bool is_foreign = runtime::cache_plugin_of(name) == "caches/triton";
  if (options.cache_directory && !is_foreign) {
    options.warn("--cache-directory has no effect: the cache ", name, " is Atoll's own");
  }
  need_plugin(options, context, cat("--cache-config=", name), std::string(runtime::cache_plugin_of(name)));
  const std::string directory = options.cache_directory.value_or((context.triton / "caches").string());
  auto unknown = runtime::set_cache(options.keys, name, settings, directory);
  if (!unknown.ok()) return std::move(unknown).status();
  for (const std::string& setting : *unknown) {
    if (name == "local") {
      options.warn("--cache-config local,", setting, " has no effect: the local cache has a size only");
    } else {
      options.refuse("--cache-config redis,", setting,
                     " is not served: settings are host, port, user and password; the others are options of "
                     "caches/redis in a manifest");
    }
  }
  return {};
}

void set_keys(LaunchOptions& options, const LaunchContext& context) {
  if (options.restricted_apis.empty() && options.restricted_protocols.empty()) return;
  const char* flag = options.restricted_apis.empty() ? "--grpc-restricted-protocol" : "--http-restricted-api";
  need_plugin(options, context, flag, "security/keys");
  options.keys.set("plugin.keys.use", "security/keys");
}

/// What --trace-config did not say may come from the deprecated flags, or from the environment.
TraceOptions merged_trace(const LaunchOptions& options) {
  TraceOptions trace = options.trace;
  if (trace.level.empty()) trace.level = options.deprecated_trace.level;
  for (const TraceOptions* other : {&options.deprecated_trace, &options.environment_trace}) {
    trace.texts.insert(other->texts.begin(), other->texts.end());
    trace.numbers.insert(other->numbers.begin(), other->numbers.end());
  }
  return trace;
}

void set_trace(LaunchOptions& options) {
  TraceOptions trace = merged_trace(options);
  bool to_file = !trace.texts.contains("mode") || trace.texts["mode"] == "triton";
  if (!trace.level.empty() && to_file && trace.texts["trace_file"].empty()) {
    options.warn("nothing is traced: --trace-config level has no effect without --trace-config triton,file");
    trace.level.clear();
  }
  if (trace.texts["trace_file"].empty()) trace.texts.erase("trace_file");
  constexpr std::string_view kServiceName = "service.name=";
  bool named = std::any_of(trace.resource.begin(), trace.resource.end(),
                           [&](const std::string& text) { return text.starts_with(kServiceName); });
  if (!trace.resource.empty() && !named) {
    trace.resource.insert(trace.resource.begin(), cat(kServiceName, "triton-inference-server"));
  }
  if (!trace.level.empty()) options.keys.set("plugin.trace.level", trace.level);
  if (!trace.resource.empty()) options.keys.set("plugin.trace.resource", trace.resource);
  for (const auto& [key, text] : trace.texts) options.keys.set(cat("plugin.trace.", key), text);
  for (const auto& [key, number] : trace.numbers) options.keys.set(cat("plugin.trace.", key), number);
}

bool is_s3(std::string_view path) { return path.starts_with("s3://"); }

/// Repositories in object stores, if there are any.
void set_stores(LaunchOptions& options, const LaunchContext& context) {
  bool has_store = false;
  for (const std::string& path : options.repositories) {
    has_store = has_store || is_s3(path);
    for (std::string_view scheme : {"gs://", "as://"}) {
      if (!path.starts_with(scheme)) continue;
      options.refuse(
          options.repository_source, "=", path,
          " is not served: of object stores only those are that speak S3 (s3://); mount or copy it");
    }
  }
  if (!has_store) return;
  need_plugin(options, context, "--model-repository=s3://", "repositories/s3");
  options.keys.set("plugin.repository.use", "repositories/s3");
  // Where Triton puts its copies, if it is told to.
  const char* const folder = context.environment("TRITON_AWS_MOUNT_DIRECTORY");
  if (folder != nullptr && *folder != '\0') options.keys.set("plugin.repository.cache_directory", folder);
}

Status set_repositories(LaunchOptions& options) {
  if (options.namespacing) {
    options.keys.set("plugin.models.namespacing", *options.namespacing);
    options.keys.set("plugin.repository.namespacing", *options.namespacing);
  }
  if (options.repositories.empty())
    return invalid_argument("--model-repository", options.repository_hint, " must be specified");
  if (options.follows_links) options.keys.set("plugin.repository.follow_links", true);
  if (!options.exit_on_error) {
    options.keys.set("plugin.repository.allow_missing_paths", true);
    options.keys.set("plugin.repository.missing_paths_fail_health", true);
  }
  for (const std::string& path : options.repositories) {
    options.keys.add("plugin.repository.paths", path);
    if (!options.exit_on_error || is_s3(path)) continue;
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return internal_error("failed to stat file ", path);
    if (!S_ISDIR(info.st_mode)) return invalid_argument("repository path is not a valid directory: ", path);
  }
  return {};
}

/// How Triton's messages call a code.
std::string_view code_words(Code code) noexcept {
  switch (code) {
    case Code::kInvalidArgument:
      return "Invalid argument";
    case Code::kInternal:
      return "Internal";
    case Code::kNotFound:
      return "Not found";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kUnimplemented:
      return "Unsupported";
    case Code::kAlreadyExists:
      return "Already exists";
    default:
      return "Unknown";
  }
}

}  // namespace

LaunchContext launch_context_of(const std::filesystem::path& launcher) {
  std::filesystem::path bin = launcher.parent_path();
  std::filesystem::path root = bin.parent_path();
  return {.atoll = bin / "atoll",
          .manifest = lib::default_manifest(root),
          .plugins = root / "lib/atoll/plugins",
          .triton = "/opt/tritonserver",
          .environment = [](const char* name) -> const char* { return ::getenv(name); }};
}

Result<std::vector<std::string>> plan_launch(LaunchOptions& options, const LaunchContext& context) {
  read_cloud_environment(options, context);
  ATOLL_RETURN_IF_ERROR(set_endpoints(options));
  ATOLL_RETURN_IF_ERROR(set_control(options, context));
  set_log_level(options);
  set_rate_limiter(options, context);
  set_foreign(options, context);
  use_if_there(options, context, "pytorch", "backends/pytorch", {});
  use_if_there(options, context, "llamacpp", "backends/llamacpp", {});
  use_if_there(options, context, "tensorflow", "backends/tensorflow", {});
  use_if_there(options, context, "openvino", "backends/openvino", {});
  set_gpus(options, context);
  ATOLL_RETURN_IF_ERROR(set_cache(options, context));
  set_keys(options, context);
  set_trace(options);
  ATOLL_RETURN_IF_ERROR(set_clouds(options, context));
  set_stores(options, context);
  if (!options.refusals.empty()) {
    std::string lines;
    for (const std::string& refusal : options.refusals) lines += cat(lines.empty() ? "" : "\n", refusal);
    return unimplemented(lines);
  }
  ATOLL_RETURN_IF_ERROR(set_repositories(options));
  std::vector<std::string> arguments = {context.atoll.string(), "--manifest", context.manifest.string()};
  for (std::string& setting : options.keys.overrides()) {
    arguments.emplace_back("--set");
    arguments.push_back(std::move(setting));
  }
  return arguments;
}

std::string address_text(const EndpointAddress& endpoint) {
  bool bare_ipv6 = endpoint.address.find(':') != std::string::npos && !endpoint.address.starts_with('[');
  return bare_ipv6 ? cat("[", endpoint.address, "]:", endpoint.port)
                   : cat(endpoint.address, ":", endpoint.port);
}

Status check_port(std::string_view name, int64_t port) {
  constexpr int64_t kPortMax = 65'535;
  if (port >= 0 && port <= kPortMax) return {};
  return invalid_argument(name, ": found ", port, ", expected a port from 0 to ", kPortMax);
}

void need_plugin(LaunchOptions& options, const LaunchContext& context, std::string_view flag,
                 const std::string& plugin) {
  if (is_there(context.plugins / (plugin + ".so"))) return;
  options.refuse(flag, " is not served: ", is_missing(context, plugin));
}

std::string failure_text(const Status& failure) {
  std::string out;
  for (std::string_view line : split(failure.message(), '\n')) {
    if (failure.code() != Code::kFailedPrecondition) {
      out += cat("error: creating server: ", code_words(failure.code()), " - ");
    }
    runtime::append_escaped(out, line);
    out += '\n';
  }
  return out;
}

}  // namespace atl::tritonserver
