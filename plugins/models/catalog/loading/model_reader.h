/// Reads what a model is: its directory, or the files that a client brought, and its configuration.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/host.h"
#include "atoll/core/log.h"
#include "atoll/models/model_config.h"
#include "atoll/models/repository.h"
#include "models/catalog/loading/load_order.h"
#include "models/catalog/loading/loader_options.h"
#include "models/catalog/serving/dependencies.h"
#include "models/catalog/serving/prepared_model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// How far a model was read.
struct PrepareProgress {
  bool exists = false;    ///< the repository has such a directory, or something that is none
  bool was_read = false;  ///< directory and configuration
  /// Those of the model: to be held until versions do, also where it could not be read. Null: none
  std::shared_ptr<AgentRun> agents;
  Want want;  ///< the service for want of which it could not be read, if that is the reason
};

/// [worker] Several models at once.
class ModelReader {
 public:
  ModelReader(Host& host, Repository& repository, ModelConfigs& configs,
              const LoaderOptions& options) noexcept
      : log_(host.log()),
        registry_(host.registry()),
        repository_(repository),
        configs_(configs),
        options_(options) {}

  /// Reads directory and configuration, after the repository agents that this asks for, and selects the versions.
  /// A configuration that took the place of the directory's stays in place until something in the directory changes,
  /// and so does what agents prepared.
  /// \param order  its files are gone afterwards \param loaded  what is served now; may be null
  /// Errors: those of Repository::open and open_files, run_agents(), ModelConfigs::read and read_json, and of
  /// ModelConfigs::select_versions.
  Result<PreparedModel> read(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                             PrepareProgress* progress);

 private:
  Status read_files(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                    PreparedModel& prepared, PrepareProgress* progress);
  Status prepare_files(PreparedModel& prepared, PrepareProgress* progress);
  Status read_config(const std::string& model, PreparedModel& prepared);
  Status find_members(const std::string& ensemble, inference::ModelConfig& config, PreparedModel& prepared);
  Status select_versions(const std::string& model, PreparedModel& prepared);

  Log& log_;
  Registry& registry_;
  Repository& repository_;
  ModelConfigs& configs_;
  const LoaderOptions& options_;
};

}  // namespace atl::models
