#include "repositories/s3/option_table.h"

#include <utility>

#include "atoll/core/text.h"

namespace atl::s3 {
namespace {

/// Empty: there is none.
std::string usual_cache_directory(const CredentialSource::Variables& variables) {
  const auto value = [&](const char* name) {
    const char* const text = variables(name);
    return std::string(text == nullptr ? "" : text);
  };
  // Of a service; systemd may name several, and the first one is its own.
  if (const std::string own = value("CACHE_DIRECTORY"); !own.empty())
    return cat(own.substr(0, own.find(':')), "/models");
  if (const std::string user = value("XDG_CACHE_HOME"); !user.empty()) return cat(user, "/atoll/models");
  const std::string home = value("HOME");
  return home.empty() ? "" : cat(home, "/.cache/atoll/models");
}

}  // namespace

Status check_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return invalid_argument("option 'paths' is empty, expected at least one path");
  for (const std::string& path : paths) {
    if (path.empty()) return invalid_argument("option 'paths' holds an empty path");
    if (!is_store_url(path)) {
      if (path.find("://") == std::string::npos) continue;
      return invalid_argument("option 'paths' holds '", path,
                              "', expected s3://... or a directory of this machine");
    }
    const Result<StoreUrl> url = parse_store_url(path);
    if (!url.ok()) return invalid_argument("option 'paths' holds ", url.status().message());
  }
  return {};
}

Result<StoreRepositorySettings> settings_of(const Options& options,
                                            const CredentialSource::Variables& variables) {
  StoreRepositorySettings settings;
  settings.folders = {.paths = options.get_strings("paths"),
                      .allow_missing_paths = options.get_bool("allow_missing_paths"),
                      .missing_paths_fail_health = options.get_bool("missing_paths_fail_health"),
                      .follow_links = options.get_bool("follow_links"),
                      .linked_paths = options.get_strings("linked_paths"),
                      .namespacing = options.get_bool("namespacing"),
                      .config_name = options.get_string("config_name"),
                      .files_max = static_cast<uint64_t>(options.get_int("files_max")),
                      .files_directory = options.get_string("files_directory")};
  ATOLL_RETURN_IF_ERROR(check_paths(settings.folders.paths));
  settings.cache_directory = options.get_string("cache_directory");
  if (settings.cache_directory.empty()) settings.cache_directory = usual_cache_directory(variables);
  if (settings.cache_directory.empty()) {
    return invalid_argument(
        "option 'cache_directory' is empty and the environment has no HOME, expected a directory");
  }
  settings.cache_bytes = options.get_bytes("cache_size");
  const std::string& addressing = options.get_string("addressing");
  if (addressing == "path") settings.addressing = Addressing::kPath;
  if (addressing == "virtual_host") settings.addressing = Addressing::kVirtualHost;
  settings.ca_file = options.get_string("ca_file");
  settings.silence_ns = options.get_duration_ns("silence_timeout");
  settings.listing.max_age_ns = options.get_duration_ns("listing_age");
  settings.listing.objects_max = static_cast<size_t>(options.get_int("objects_max"));
  settings.listing.limits.side_by_side = static_cast<size_t>(options.get_int("downloads"));
  settings.listing.limits.retries = static_cast<int>(options.get_int("retries"));
  Result<CredentialSource> credentials = CredentialSource::read(variables);
  if (!credentials.ok()) return std::move(credentials).status();
  settings.credentials = std::move(credentials).value();
  return settings;
}

}  // namespace atl::s3
