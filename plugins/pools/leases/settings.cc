#include "pools/leases/settings.h"

#include <filesystem>
#include <utility>

#include "atoll/core/file_check.h"
#include "pools/leases/api/json_requests.h"

namespace atl::pools {
namespace {

std::string absolute(const std::string& path) {
  // Without a slash at the end, which would be a part of the path.
  return (std::filesystem::absolute(path) / "").lexically_normal().parent_path();
}

Status read_limits(const Options& options, LeaseLimits& limits) {
  limits.default_duration_ns = options.get_duration_ns("default_duration");
  limits.min_duration_ns = options.get_duration_ns("min_duration");
  limits.max_duration_ns = options.get_duration_ns("max_duration");
  if (Result<int64_t> checked = checked_duration(std::nullopt, limits); !checked.ok())
    return invalid_argument("option 'default_duration': ", checked.status().message());
  if (options.get_strings("sources").empty())
    return invalid_argument("option 'sources' is empty, expected a folder at least");
  for (const std::string& source : options.get_strings("sources")) {
    if (source.empty()) return invalid_argument("option 'sources' has an empty text, expected folders");
    limits.sources.push_back(absolute(source));
  }
  return {};
}

using Members = std::map<std::string, std::string>;

Status read_pools(const Members& members, std::vector<PoolDefinition>& declared) {
  for (const auto& [name, json] : members) {
    Result<PoolDefinition> pool = read_pool(json);
    if (pool.ok() && !pool->name.empty() && pool->name != name)
      pool = invalid_argument("name is '", pool->name, "'");
    if (pool.ok()) pool->name = name;
    Status status = pool.ok() ? check(pool.value()) : std::move(pool).status();
    if (!status.ok()) return invalid_argument("option 'pools': '", name, "': ", status.message());
    declared.push_back(std::move(pool).value());
  }
  return {};
}

}  // namespace

void PluginSettings::check(OptionCheck& check) {
  check.map("pools", [](const Members& members) {
    std::vector<PoolDefinition> declared;
    return read_pools(members, declared);
  });
  LeaseLimits limits;
  check.passes({}, read_limits(check.options(), limits));
  const std::string& directory = check.options().get_string("state_directory");
  if (!directory.empty()) check.passes("state_directory", check_creatable_folder(directory));
  Result<InstanceTlsSettings> tls = InstanceTlsSettings::read(check.options());
  if (tls.ok()) check.passes({}, read_instance_tls(tls.value()));
  check.whole(read(check.options()));
}

Result<PluginSettings> PluginSettings::read(const Options& options) {
  PluginSettings settings;
  const std::string& directory = options.get_string("state_directory");
  if (directory.empty()) return invalid_argument("option 'state_directory' is empty");
  settings.state_directory = absolute(directory);
  PoolSettings& pools = settings.pools;
  ATOLL_RETURN_IF_ERROR(read_limits(options, pools.lease_limits));
  ATOLL_RETURN_IF_ERROR(read_pools(options.get_map("pools"), settings.declared));
  pools.repositories = settings.state_directory + "/repositories";
  pools.unknown_needs_new_instance = options.get_bool("unknown_needs_new_instance");
  pools.idle_ns = options.get_duration_ns("idle_timeout");
  pools.history_ns = options.get_duration_ns("history");
  pools.start_timeout_ns = options.get_duration_ns("start_timeout");
  pools.ready_interval_ns = options.get_duration_ns("ready_interval");
  pools.health_interval_ns = options.get_duration_ns("health_interval");
  pools.health_failures = static_cast<uint32_t>(options.get_int("health_failures"));
  pools.first_backoff_ns = options.get_duration_ns("backoff");
  pools.longest_backoff_ns = options.get_duration_ns("max_backoff");
  if (pools.longest_backoff_ns < pools.first_backoff_ns)
    return invalid_argument("option 'max_backoff' is shorter than 'backoff'");
  pools.pools_max = static_cast<uint32_t>(options.get_int("max_pools"));
  pools.leases_max = static_cast<uint32_t>(options.get_int("max_leases"));
  settings.host.call_timeout_ns = options.get_duration_ns("call_timeout");
  settings.host.load_timeout_ns = options.get_duration_ns("load_timeout");
  Result<InstanceTlsSettings> tls = InstanceTlsSettings::read(options);
  if (!tls.ok()) return std::move(tls).status();
  settings.tls = std::move(tls).value();
  settings.use_interval_ns = options.get_duration_ns("use_interval");
  settings.use.window_ns = options.get_duration_ns("use_window");
  settings.use.overuse_factor = options.get_float("overuse_factor");
  return settings;
}

}  // namespace atl::pools
