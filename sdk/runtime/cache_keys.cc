#include "atoll/runtime/cache_keys.h"

#include "atoll/core/host_port.h"
#include "atoll/core/text.h"

namespace atl::runtime {
namespace {

using Settings = std::map<std::string, std::string>;
using Unknown = std::vector<std::string>;

/// Digits alone: nothing else is a size there.
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<Unknown> set_local(ManifestKeys& keys, const Settings& settings) {
  std::string size;
  Unknown unknown;
  for (const auto& [name, value] : settings) {
    if (name == "size") {
      size = value;
    } else {
      unknown.push_back(name);
    }
  }
  if (!is_number(size)) {
    return internal_error("Failed to initialize LocalCache: config didn't contain a valid 'size' field.");
  }
  keys.set("plugin.cache.size", cat(size, "B"));
  return unknown;
}

Unknown set_redis(ManifestKeys& keys, const Settings& settings) {
  std::string host = "127.0.0.1", port = "6379";
  Unknown unknown;
  for (const auto& [name, value] : settings) {
    if (name == "host") {
      host = value;
    } else if (name == "port") {
      port = value;
    } else if (name == "user" || name == "password") {
      keys.set(cat("plugin.cache.", name), value);
    } else {
      unknown.push_back(name);
    }
  }
  keys.set("plugin.cache.address", host_port_text(host, port));
  return unknown;
}

}  // namespace

std::string_view cache_plugin_of(std::string_view cache) {
  return cache == "local" ? "caches/local" : cache == "redis" ? "caches/redis" : "caches/triton";
}

Result<std::vector<std::string>> set_cache(ManifestKeys& keys, std::string_view cache,
                                           const Settings& settings, std::string_view directory) {
  keys.set("plugin.cache.use", cache_plugin_of(cache));
  if (cache == "local") return set_local(keys, settings);
  if (cache == "redis") return set_redis(keys, settings);
  keys.set("plugin.cache.name", cache);
  keys.add("plugin.cache.directories", directory);
  for (const auto& [name, value] : settings) keys.put("plugin.cache.settings", name, value);
  return Unknown();
}

}  // namespace atl::runtime
