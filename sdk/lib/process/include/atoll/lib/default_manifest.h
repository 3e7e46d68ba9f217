/// Where a program that starts the server finds the manifest that it starts from.
#pragma once

#include <filesystem>
#include <system_error>

namespace atl::lib {

/// The default manifest of the installation in this folder: share/atoll/atoll.toml if it is there, as in a package of the
/// system, where the one in /etc is the administrator's; else etc/atoll/atoll.toml.
inline std::filesystem::path default_manifest(const std::filesystem::path& root) {
  std::error_code ignored;
  const std::filesystem::path shared = root / "share/atoll/atoll.toml";
  return std::filesystem::is_regular_file(shared, ignored) ? shared : root / "etc/atoll/atoll.toml";
}

}  // namespace atl::lib
