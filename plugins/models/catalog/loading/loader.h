/// Turns a model directory into served versions.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "models/catalog/loading/load_order.h"
#include "models/catalog/loading/loader_options.h"
#include "models/catalog/loading/model_reader.h"
#include "models/catalog/loading/version_builder.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// [worker] for every function; several models at once.
class Loader {
 public:
  /// \param catalog  finds the members of ensembles
  Loader(Host& host, Repository& repository, ModelConfigs& configs, ServingContext& serving,
         ModelCatalog& catalog, LoaderOptions options)
      : host_(host),
        repository_(repository),
        configs_(configs),
        serving_(serving),
        catalog_(catalog),
        left_warmups_(host) {
    use(std::move(options));
  }

  /// What is read and built from now on has these; what runs keeps those that it began with. [any]
  void use(LoaderOptions options);

  /// As ModelReader::read().
  Result<PreparedModel> prepare(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                                PrepareProgress* progress);
  /// Loads and unloads that run now, and what warm-ups have left behind.
  std::vector<std::string> running() const;

  /// Builds one version, trying as often as the options say. It serves when it is published. On failure
  /// nothing is left of it, but for a version whose warm-up was not answered (LeftWarmups).
  /// Errors: INVALID_ARGUMENT configuration, or no such backend; UNIMPLEMENTED no such scheduler; what the
  /// backend and the scheduler say; UNAVAILABLE the server is going down.
  /// \param before  the version as it is served, whose statistics go on with this one; null: there is none
  LoadFailure build(const std::shared_ptr<const PreparedModel>& model, const RepositoryVersion& version,
                    const ServedModel* before, std::unique_ptr<ServedModel>* built);
  /// As build(), of a version that is served and whose instances are to be other ones. Shares its backend
  /// model, its statistics and the instances that stay, and has a scheduler of its own; `served` goes on as
  /// it is.
  LoadFailure build_on(const ServedModel& served, const std::shared_ptr<const PreparedModel>& model,
                       std::unique_ptr<ServedModel>* built);

 private:
  std::shared_ptr<const LoaderOptions> options() const;
  BuildContext context(const LoaderOptions& options) {
    return {host_, configs_, serving_, catalog_, options, left_warmups_};
  }

  Host& host_;
  Repository& repository_;
  ModelConfigs& configs_;
  ServingContext& serving_;
  ModelCatalog& catalog_;
  LeftWarmups left_warmups_;
  mutable std::mutex mutex_;
  std::shared_ptr<const LoaderOptions> options_;  // guarded by mutex_
};

}  // namespace atl::models
