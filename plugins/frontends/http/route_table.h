/// Which call a path names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "atoll/frontend/access.h"

namespace atl::frontends::http {

enum class Endpoint : uint8_t {
  kServerLive,
  kServerReady,
  kServerMetadata,
  kModelReady,
  kModelMetadata,
  kModelConfig,
  kStatistics,
  kInfer,
  kGenerate,
  kGenerateStream,
  kRepositoryIndex,
  kRepositoryLoad,
  kRepositoryUnload,
  kSystemRegionStatus,
  kSystemRegionRegister,
  kSystemRegionUnregister,
  kCudaRegionStatus,
  kCudaRegionRegister,
  kCudaRegionUnregister,
  kTraceSetting,
  kLogging,
  kContributed  ///< another plugin's; no path of this table
};

/// A path's call and the names in it, which are views into the path or into what it was decoded to.
struct Route {
  Endpoint endpoint = Endpoint::kServerLive;
  ApiCategory category = ApiCategory::kHealth;
  bool allows_get = false;
  bool allows_post = false;
  bool has_version = false;
  std::string_view model;
  std::string_view version;     ///< as written; may be empty or no number
  std::string_view repository;  ///< empty: the path has none
  std::string_view region;      ///< empty: the path has none

  bool allows(std::string_view method) const noexcept {
    return (allows_get && method == "GET") || (allows_post && method == "POST");
  }
  std::string_view allowed_methods() const noexcept {
    if (allows_get) return allows_post ? "GET, POST" : "GET";
    return "POST";
  }
};

/// Paths are compared as they are written: case counts, and a trailing slash makes another path. Names keep
/// their percent codes. False: no call has this path.
bool find_route(std::string_view path, Route* route) noexcept;

/// Whether a path has a percent code of a control character, dot, slash or backslash, or one that is none. No
/// name has these: they are attempts to reach something else.
/// \param allows_slash  a slash may have a code: where a plugin's own route takes any rest, that may be a name such as
/// "org%2Fmodel"
bool has_unsafe_percent_code(std::string_view path, bool allows_slash = false) noexcept;

/// Replaces the percent codes in the route's names, which has_unsafe_percent_code() let pass. \param storage
/// what the names are views into afterwards, as long as its memory is; moving it is fine. False: a name is
/// not UTF-8.
bool decode_names(Route* route, std::vector<char>* storage);

}  // namespace atl::frontends::http
