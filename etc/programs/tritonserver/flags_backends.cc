#include <algorithm>
#include <string>

#include "flag.h"
#include "values.h"

namespace atl::tritonserver {
namespace {

/// Settings of a backend go through the catalog, as "<backend>.<setting>".
Status read_backend_config(FlagUse& use) {
  auto setting = parse_setting(use.value, "backend-config", "backend name");
  if (!setting.ok()) return std::move(setting).status();
  if (setting->scoped && setting->scope.empty()) {
    return invalid_argument(
        "No backend specified. --backend-config option format is <backend name>,<setting>=<value> or "
        "<setting>=<value>. Got ",
        use.value);
  }
  bool ambiguous = setting->scoped ? setting->scope.find('.') != std::string::npos
                                   : setting->name.find('.') != std::string::npos;
  if (ambiguous) {
    return invalid_argument("found '", setting->scoped ? setting->scope : setting->name,
                            "', expected a name without a dot");
  }
  use.options.keys.put("plugin.models.backend_settings",
                       setting->scoped ? cat(setting->scope, ".", setting->name) : setting->name,
                       setting->value);
  return {};
}

Status read_cache_config(FlagUse& use) {
  auto setting = parse_setting(use.value, "cache-config", "cache name");
  if (!setting.ok()) return std::move(setting).status();
  if (setting->scope.empty()) {
    return invalid_argument(
        "No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got ",
        use.value);
  }
  use.options.caches[setting->scope][setting->name] = setting->value;
  return {};
}

Status read_old_cache_size(FlagUse& use) {
  ATOLL_RETURN_IF_ERROR(
      parse_integer(use.value, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max())
          .status()
          .clone());
  use.options.old_cache_size = use.value;
  use.options.warn(
      "'--response-cache-byte-size' has been deprecated! This will default to the 'local' cache implementation with "
      "the provided byte size for its config. Please use '--cache-config' instead. The equivalent --cache-config CLI "
      "args would be: '--cache-config=local,size=",
      use.value, "'");
  return {};
}

Status read_rate_limit(FlagUse& use) {
  std::string mode = lower(use.value);
  constexpr std::string_view kModes[] = {"off", "execution_count"};
  if (std::ranges::find(kModes, mode) == std::end(kModes))
    return not_one_of("invalid argument for --rate-limit", use.value, kModes);
  use.options.rate_limit = mode != "off";
  return {};
}

Status read_resource(FlagUse& use) {
  auto parts = split(use.value, ':');
  if (parts.size() < 2 || parts.size() > 3) {
    return invalid_argument(
        "--rate-limit-resource option format is '<resource_name>:<count>:<device>' or "
        "'<resource_name>:<count>'. Got ",
        use.value);
  }
  std::string resource(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    auto number = parse_integer(parts[i]);
    if (!number.ok()) return std::move(number).status();
    resource += cat(":", *number);
  }
  use.options.rate_limit_resources.push_back(std::move(resource));
  return {};
}

Result<int64_t> parse_bytes_of_flag(std::string_view text) {
  return parse_integer(text, 0, std::numeric_limits<int64_t>::max());
}

Result<int64_t> parse_gpu(std::string_view text) {
  auto gpu = parse_integer(text);
  if (gpu.ok() && *gpu < 0) return invalid_argument("expects device ID >= 0, got ", *gpu);
  return gpu;
}

Status read_pinned_bytes(FlagUse& use) {
  auto bytes = parse_bytes_of_flag(use.value);
  if (!bytes.ok()) return std::move(bytes).status();
  use.options.gpus.pinned_bytes = *bytes;
  return {};
}

/// "<gpu>:<bytes>"; of a GPU that is named again the last.
Status read_gpu_bytes(FlagUse& use, std::map<int64_t, int64_t>* by_gpu) {
  auto pair = parse_pair(use.value);
  if (!pair.ok()) return std::move(pair).status();
  auto gpu = parse_gpu(pair->first);
  if (!gpu.ok()) return std::move(gpu).status();
  auto bytes = parse_bytes_of_flag(pair->second);
  if (!bytes.ok()) return std::move(bytes).status();
  (*by_gpu)[*gpu] = *bytes;
  return {};
}

Status read_pool_bytes(FlagUse& use) { return read_gpu_bytes(use, &use.options.gpus.pool_bytes); }

Status read_address_bytes(FlagUse& use) { return read_gpu_bytes(use, &use.options.gpus.address_bytes); }

Status read_capability(FlagUse& use) {
  constexpr double kMax = 99;  // as the options of the plugins have it
  auto capability = parse_number(use.value);
  if (!capability.ok()) return std::move(capability).status();
  if (*capability < 0 || *capability > kMax)
    return invalid_argument("found ", *capability, ", expected 0 to ", kMax);
  use.options.gpus.min_capability = *capability;
  return {};
}

Status read_host_policy(FlagUse& use) {
  auto setting = parse_setting(use.value, "host-policy", "policy name");
  if (!setting.ok()) return std::move(setting).status();
  if (setting->scope.empty()) {
    return invalid_argument("--host-policy option format is '<policy name>,<setting>=<value>'. Got ",
                            use.value);
  }
  if (setting->name == "numa-node" || setting->name == "cpu-cores") {
    use.options.keys.put("plugin.models.host_policies", cat(setting->scope, ".", setting->name),
                         setting->value);
    return {};
  }
  return invalid_argument("Unsupported host policy setting '", setting->name,
                          "' is specified, supported settings are 'numa-node', 'cpu-cores'");
}

Status read_gpu_limit(FlagUse& use) {
  auto pair = parse_pair(use.value);
  if (!pair.ok()) return std::move(pair).status();
  auto gpu = parse_gpu(pair->first);
  if (!gpu.ok()) return std::move(gpu).status();
  auto fraction = parse_number(pair->second);
  if (!fraction.ok()) return std::move(fraction).status();
  if (*fraction < 0.0 || *fraction > 1.0) {
    return invalid_argument("expects limit fraction to be in range [0.0, 1.0], got ", *fraction);
  }
  use.options.keys.put("plugin.models.gpu_load_limit", cat(*gpu), cat(*fraction));
  return {};
}

Status read_backend_directory(FlagUse& use) {
  use.options.backend_directory = use.value;
  return {};
}

Status read_pass_environment(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  use.options.passes_environment = *on;
  return {};
}

Status read_agent_directory(FlagUse& use) {
  if (use.value.empty()) return invalid_argument("Invalid argument - --repoagent-directory can not be empty");
  use.options.agent_directory = use.value;
  return {};
}

Status read_cache_directory(FlagUse& use) {
  use.options.cache_directory = use.value;
  return {};
}

constexpr Flag kBackendFlags[] = {
    {Group::kBackend, "backend-directory", "<string>",
     "Directory of backends made for Triton, shared objects or Python programs, and of their batching strategies: "
     "a folder for each. They run the models whose backend is none of Atoll's own. Default: "
     "/opt/tritonserver/backends, if it is there.",
     read_by(read_backend_directory,
             "plugin.triton.directories, plugin.python.directories, plugin.dynamic.backend_directory")},
    {Group::kBackend, "backend-config", "<string>,<string>=<string>",
     "A setting of a backend, <backend>,<setting>=<value>, or of all, <setting>=<value>; "
     "default-max-batch-size=<integer> is the batch size of models that can batch and do not say how much. "
     "May be given more than once.",
     read_by(read_backend_config, "plugin.models.backend_settings")},
    {Group::kBackend, "pass-environment", "<boolean>",
     "Whether Python models see all variables of the server's environment; else only those by which programs find "
     "their files. Atoll's own flag. Default: true.",
     read_by(read_pass_environment, "plugin.python.environment")},

    {Group::kAgent, "repoagent-directory", "<string>",
     "Directory of repository agents made for Triton: a folder for each. Default: /opt/tritonserver/repoagents, if "
     "it is there.",
     read_by(read_agent_directory, "plugin.agents.directories")},

    {Group::kCache, "cache-config", "<string>,<string>=<string>",
     "The response cache and a setting of it, <cache>,<setting>=<value>: local,size=<bytes>, redis with host, "
     "port, user and password, or another, made for Triton, in the directory of caches. May be given more than "
     "once, for one cache. Default: responses are not cached.",
     read_by(read_cache_config, "plugin.cache.use")},
    {Group::kCache, "cache-directory", "<string>",
     "Directory of response caches made for Triton: a folder for each. local and redis are Atoll's own all the "
     "same. Default: /opt/tritonserver/caches.",
     read_by(read_cache_directory, "plugin.cache.directories")},

    {Group::kRateLimiter, "rate-limit", "<string>",
     "off or execution_count: whether models' instances wait for the resources that their configurations "
     "name. Default: off.",
     read_by(read_rate_limit, "plugin.rate_limiter.use")},
    {Group::kRateLimiter, "rate-limit-resource", "<string>:<integer>:<integer>",
     "How much there is of a resource, <name>:<count> on every device or <name>:<count>:<device>; counts "
     "only with --rate-limit=execution_count. May be given more than once. Default: what the neediest "
     "instance needs.",
     read_by(read_resource, "plugin.rate_limiter.resources")},

    {Group::kMemory, "pinned-memory-pool-byte-size", "<integer>",
     "Bytes of pinned host memory, for tensors on their way to and from GPUs; 0: none. It is taken when it is first "
     "used. Default: 268435456.",
     read_by(read_pinned_bytes, "plugin.pinned.size")},
    {Group::kMemory, "cuda-memory-pool-byte-size", "<integer>:<integer>",
     "Bytes of freed memory that a GPU keeps for later, <gpu>:<bytes>. More may be in use, and nothing is taken "
     "before it is. May be given more than once, for several GPUs. Default: 67108864 for each.",
     read_by(read_pool_bytes, "plugin.gpus.kept_by_device")},
    {Group::kMemory, "cuda-virtual-address-size", "<integer>:<integer>",
     "Bytes of addresses that are reserved for each growable state of a sequence, <gpu>:<bytes>; of several GPUs the "
     "largest counts, for all of them and for the CPU. A state that outgrows them is moved. Default: 1073741824.",
     read_by(read_address_bytes,
             "plugin.sequence_direct.growable_state, plugin.sequence_oldest.growable_state")},
    {Group::kMemory, "min-supported-compute-capability", "<number>",
     "GPUs below it are not used. Default: 6.0.",
     read_by(read_capability, "plugin.gpus.min_compute_capability")},
    {Group::kMemory, "buffer-manager-thread-count", "<integer>", "Threads that copy tensors. Default: 0.",
     has_no_effect(ValueType::kInteger, "tensors are used where they were received")},
    {Group::kMemory, "host-policy", "<string>,<string>=<string>",
     "NUMA node or cores of models' instances, <policy>,numa-node=<integer> or "
     "<policy>,cpu-cores=<integer>-<integer>.",
     read_by(read_host_policy, "plugin.models.host_policies")},
    {Group::kMemory, "model-load-gpu-limit", "<integer>:<number>",
     "Fraction of a GPU's memory that may be in use after an instance of a model was made there, <gpu>:<fraction>; "
     "where it is more, the load fails. May be given more than once, for several GPUs. Default: no limit.",
     read_by(read_gpu_limit, "plugin.models.gpu_load_limit")},

    {Group::kSharedMemory, "allow-client-shm", "<boolean>",
     "Whether clients may register shared memory. Default: false.",
     sets("plugin.shared.allow_client_shm", ValueType::kBool)},

    {Group::kDeprecated, "response-cache-byte-size", "<integer>", "As --cache-config local,size.",
     read_by(read_old_cache_size, "plugin.cache.size")},
};

}  // namespace

std::span<const Flag> backend_flags() { return kBackendFlags; }

}  // namespace atl::tritonserver
