/// Turns a model directory into served versions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/host.h"
#include "atoll/model_config.h"
#include "atoll/repository.h"
#include "models/catalog/loading/load_order.h"
#include "models/catalog/serving/host_policies.h"
#include "models/catalog/serving/served_model.h"
#include "models/catalog/serving/serving_table.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

struct LoaderOptions {
  bool auto_complete = true;
  HostPolicies host_policies;
  bool namespacing = false;                     ///< models are known by identifiers
  uint32_t retries = 0;                         ///< further attempts at a version that failed to load
  std::map<std::string, std::string> settings;  ///< "<backend>.<setting>"; without a dot: of all backends
  int64_t default_max_batch_size = 4;
};

/// A service that a version could not be built without.
struct MissingService {
  std::string_view interface_id;  ///< empty: none is missing
  std::string name;               ///< a backend's instance, a scheduler's instance or kind
};

/// How far prepare() came.
struct PrepareProgress {
  bool exists = false;    ///< the repository has such a directory, or something that is none
  bool was_read = false;  ///< directory and configuration
};

/// [worker] for every function; several models at once.
class Loader {
 public:
  Loader(Host& host, Repository& repository, ModelConfigs& configs, ServingContext& serving,
         ServingTable& table, LoaderOptions options);

  /// Reads directory and configuration and selects the versions. A configuration that took the place of the
  /// directory's stays in place until something in the directory changes.
  /// \param order  its files are gone afterwards \param loaded  what is served now; may be null
  /// Errors: those of Repository::open and open_files, ModelConfigs::read and read_json, and of
  /// ModelConfigs::select_versions.
  Result<PreparedModel> prepare(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                                PrepareProgress* progress);

  /// Builds one version, trying as often as the options say. It serves when it is published. On failure
  /// nothing is left of it. \param missing  set if the failure is the want of a service
  /// Errors: INVALID_ARGUMENT configuration, or no such backend; UNIMPLEMENTED no such scheduler; what the
  /// backend and the scheduler say; UNAVAILABLE the server is going down.
  Result<std::unique_ptr<ServedModel>> build(const std::shared_ptr<const PreparedModel>& model,
                                             const RepositoryVersion& version, MissingService* missing);
  /// As build(), of a version that is served and whose instances are to be other ones. Shares its backend
  /// model, its statistics and the instances that stay, and has a scheduler of its own; `served` goes on as
  /// it is.
  Result<std::unique_ptr<ServedModel>> build_on(const ServedModel& served,
                                                const std::shared_ptr<const PreparedModel>& model,
                                                MissingService* missing);

 private:
  Status read_files(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                    PreparedModel& prepared, PrepareProgress* progress);
  Result<std::unique_ptr<ServedModel>> build_once(const std::shared_ptr<const PreparedModel>& source,
                                                  const RepositoryVersion& version, MissingService* missing);
  Status find_members(const std::string& ensemble, inference::ModelConfig& config, PreparedModel& prepared);
  Status load_backend(const PreparedModel& model, const RepositoryVersion& version, ModelParts& parts,
                      inference::ModelConfig& config, std::string& bytes, MissingService* missing);
  /// Those of parts.specs that are not there yet.
  Status create_instances(const PreparedModel& model, ModelParts& parts);
  Result<std::unique_ptr<BackendInstance>> create_instance(BackendModel& model, const InstanceSpec& spec);
  void warn_of_unknown_policies(const inference::ModelConfig& config);
  Status admit(const inference::ModelConfig& config, int64_t version, ModelParts& parts,
               MissingService* missing);
  Status create_scheduler(const PreparedModel& model, const inference::ModelConfig& config, ModelParts& parts,
                          MissingService* missing);
  std::vector<int32_t> usable_gpus();

  Host& host_;
  Repository& repository_;
  ModelConfigs& configs_;
  ServingContext& serving_;
  ServingTable& table_;
  LoaderOptions options_;
};

/// The settings of one backend; "default-max-batch-size" is always there.
std::map<std::string, std::string> settings_of(const LoaderOptions& options, std::string_view backend);

}  // namespace atl::models
