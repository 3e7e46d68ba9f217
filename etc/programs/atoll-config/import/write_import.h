/// Writes a repository and the manifest of a server that serves it.
#pragma once

#include <filesystem>
#include <string>

#include "atoll/core/status.h"
#include "import/import_plan.h"

namespace atl::config {

struct ImportOptions {
  bool links = false;         ///< of models, in place of copies
  uint32_t poll_seconds = 1;  ///< 0: what is in the repository at the start is served
  /// Where the server's plugins are; those that are not there are commented out. Empty: nobody knows.
  std::filesystem::path plugins;
};

/// Makes the folder `out`, which must not be there: models/, and atoll.toml. Everything is written beside it and moved there at
/// the end, so nothing half written stays. Plugins that are missing are added to plan.left_out.
/// Errors: INVALID_ARGUMENT `out` is there; UNAVAILABLE the system refuses.
Status write_import(ImportPlan& plan, const std::filesystem::path& out, const ImportOptions& options);

/// The text of atoll.toml. \param repository  the absolute path of the models
std::string import_manifest(ImportPlan& plan, const std::filesystem::path& repository,
                            const ImportOptions& options);

}  // namespace atl::config
