/// Turns a model directory into served versions.
#pragma once

#include <memory>
#include <string>

#include "models/catalog/loading/load_order.h"
#include "models/catalog/loading/loader_options.h"
#include "models/catalog/loading/model_reader.h"
#include "models/catalog/loading/version_builder.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// [worker] for every function; several models at once.
class Loader {
 public:
  /// \param catalog  finds the members of ensembles \param options  outlive the loader
  Loader(Host& host, Repository& repository, ModelConfigs& configs, ServingContext& serving,
         ModelCatalog& catalog, const LoaderOptions& options)
      : reader_(host, repository, configs, options), context_{host, configs, serving, catalog, options} {}

  /// As ModelReader::read().
  Result<PreparedModel> prepare(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                                PrepareProgress* progress) {
    const LongWork::Task task(context_.serving.work, context_.serving.requests.fault_notes, "loading",
                              cat("model '", model, "'"));
    return reader_.read(model, order, loaded, progress);
  }
  /// Loads and unloads that run now.
  std::vector<std::string> running() const {
    return context_.serving.work == nullptr ? std::vector<std::string>() : context_.serving.work->running();
  }

  /// Builds one version, trying as often as the options say. It serves when it is published. On failure
  /// nothing is left of it.
  /// Errors: INVALID_ARGUMENT configuration, or no such backend; UNIMPLEMENTED no such scheduler; what the
  /// backend and the scheduler say; UNAVAILABLE the server is going down.
  LoadFailure build(const std::shared_ptr<const PreparedModel>& model, const RepositoryVersion& version,
                    std::unique_ptr<ServedModel>* built);
  /// As build(), of a version that is served and whose instances are to be other ones. Shares its backend
  /// model, its statistics and the instances that stay, and has a scheduler of its own; `served` goes on as
  /// it is.
  LoadFailure build_on(const ServedModel& served, const std::shared_ptr<const PreparedModel>& model,
                       std::unique_ptr<ServedModel>* built);

 private:
  ModelReader reader_;
  const BuildContext context_;
};

}  // namespace atl::models
