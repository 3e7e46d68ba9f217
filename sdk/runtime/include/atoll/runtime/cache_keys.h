/// The response cache that Triton's options name, as keys of a manifest: for its command line and for its C API.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/runtime/manifest_keys.h"

namespace atl::runtime {

/// "caches/local" and "caches/redis" for the server's own, "caches/triton" for any other.
std::string_view cache_plugin_of(std::string_view cache);

/// Sets the keys of [plugin.cache]. \param directory  of caches made for Triton; for these only
/// \returns the settings that have no key. Errors: INTERNAL `local` without a size, in Triton's words.
Result<std::vector<std::string>> set_cache(ManifestKeys& keys, std::string_view cache,
                                           const std::map<std::string, std::string>& settings,
                                           std::string_view directory);

}  // namespace atl::runtime
