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
#include "served_model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

struct LoaderOptions {
  bool auto_complete = true;
  uint32_t retries = 0;                         ///< further attempts at a version that failed to load
  std::map<std::string, std::string> settings;  ///< "<backend>.<setting>"; without a dot: of all backends
  int64_t default_max_batch_size = 4;
};

/// A model that an ensemble is made of.
struct EnsembleMember {
  std::string model;
  int64_t version = ModelCatalog::kLatest;
};

/// A model whose configuration has been read: what is to be built.
struct PreparedModel {
  RepositoryModel files;
  std::string config;  ///< serialized; normalised, not completed
  std::vector<RepositoryVersion> versions;
  std::vector<EnsembleMember> members;  ///< of an ensemble
  bool ensemble = false;
};

/// A service that a version could not be built without.
struct MissingService {
  std::string_view interface_id;  ///< empty: none is missing
  std::string name;               ///< a backend's instance, a scheduler's kind
};

/// [worker] for every function; several models at once.
class Loader {
 public:
  Loader(Host& host, Repository& repository, ModelConfigs& configs, ServingContext& serving,
         LoaderOptions options);

  /// Reads directory and configuration and selects the versions. \param exists  false: there is no such model
  /// directory
  /// Errors: those of Repository::open, ModelConfigs::read and ModelConfigs::select_versions.
  Result<PreparedModel> prepare(const std::string& model, bool* exists);

  /// Builds one version, trying as often as the options say. It serves when it is published. On failure
  /// nothing is left of it. \param missing  set if the failure is the want of a service
  /// Errors: INVALID_ARGUMENT configuration, or no such backend; UNIMPLEMENTED no such scheduler; what the
  /// backend and the scheduler say; UNAVAILABLE the server is going down.
  Result<std::unique_ptr<ServedModel>> build(const PreparedModel& model, const RepositoryVersion& version,
                                             MissingService* missing);

 private:
  Result<std::unique_ptr<ServedModel>> build_once(const PreparedModel& model,
                                                  const RepositoryVersion& version, MissingService* missing);
  Status load_backend(const PreparedModel& model, const RepositoryVersion& version, ModelParts& parts,
                      inference::ModelConfig& config, std::string& bytes, MissingService* missing);
  Status create_instances(const PreparedModel& model, const inference::ModelConfig& config,
                          ModelParts& parts);
  Status create_scheduler(const PreparedModel& model, const inference::ModelConfig& config, ModelParts& parts,
                          MissingService* missing);
  std::vector<int32_t> usable_gpus();

  Host& host_;
  Repository& repository_;
  ModelConfigs& configs_;
  ServingContext& serving_;
  LoaderOptions options_;
};

/// The settings of one backend; "default-max-batch-size" is always there.
std::map<std::string, std::string> settings_of(const LoaderOptions& options, std::string_view backend);

}  // namespace atl::models
