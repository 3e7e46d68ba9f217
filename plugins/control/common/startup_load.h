/// The load at start, on worker threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/core/log.h"
#include "atoll/models/model.h"
#include "atoll/models/repository.h"

namespace atl::control {

/// What the start-up load works with.
struct StartupServices {
  Log& log;
  Gate& gate;  ///< the plugin instance's own; a pass is held until the load has ended
  WorkerPool& workers;
  ModelCatalog& catalog;
  Repository& repository;
};

/// Loads models once, on worker threads, and then tells the catalog that start-up is complete: whichever of
/// them failed, the others are served. Returns at once. The services must stay held until the gate is empty.
/// \param models  none: every model that the repository lists
///
/// A repository that cannot be listed is logged; start-up is then never complete, so the server does not
/// become ready: it cannot know what it should serve.
/// Errors: UNAVAILABLE the gate is closed.
Status begin_startup_load(const StartupServices& services,
                          std::optional<std::vector<std::string>> models) noexcept;

/// How many models were loaded, and which failed.
void log_startup(Log& log, const std::vector<ModelLoadResult>& results);

/// Every name of a listing once: a name in two repositories is the catalog's to refuse.
std::vector<std::string> distinct_names(const std::vector<RepositoryEntry>& entries);

}  // namespace atl::control
