/// From options and what was found to a manifest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/runtime/manifest_keys.h"
#include "discovery.h"
#include "serve_options.h"

namespace atl::serve {

/// What lies around this program.
struct ServeContext {
  std::filesystem::path atoll;     ///< the program to start
  std::filesystem::path manifest;  ///< the default manifest, whose instances the options set
  std::filesystem::path plugins;   ///< folder with <role>/<name>.so
};

/// Of an installed or built Atoll, seen from this program's own file.
ServeContext serve_context_of(const std::filesystem::path& program);

/// Whether clients of OpenAI's API are answered: its frontend is there, and HTTP is on.
bool has_openai_api(const ServeOptions& options, const ServeContext& context);

/// Why models of the backend cannot be served, with how to get it if a build says so; empty: they can.
std::string backend_refusal(const ServeContext& context, std::string_view backend);

/// What is decided: keys of the manifest, and a remark on each port that is another than usual. The ports stand in the
/// options then. \param repositories  that are served. Errors: as choose_ports(); NOT_FOUND a plugin that was asked for
/// is not there
struct ServePlan {
  runtime::ManifestKeys keys;
  runtime::ManifestKeys endpoints;  ///< those of the keys that say where the server listens
  std::vector<std::string> remarks;
};
Result<ServePlan> plan_serve(ServeOptions& options, const ServeContext& context, const Discovery& found,
                             const std::vector<std::filesystem::path>& repositories);

/// Folders that links in the repositories may lead into.
std::vector<std::string> linked_folders(const Discovery& found);

}  // namespace atl::serve
