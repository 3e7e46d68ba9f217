/// Builds one version.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/models/model_config.h"
#include "atoll/models/repository.h"
#include "model_config.pb.h"
#include "models/catalog/loading/instance_takeover.h"
#include "models/catalog/loading/loader_options.h"
#include "models/catalog/loading/model_content.h"
#include "models/catalog/loading/model_info.h"
#include "models/catalog/loading/warmup_run.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// Why a version could not be built.
struct LoadFailure {
  LoadFailure() noexcept = default;
  LoadFailure(Status why, Want what = {}) noexcept : status(std::move(why)), want(std::move(what)) {}
  bool ok() const noexcept { return status.ok(); }

  Status status;          ///< OK: there is none
  Want want;              ///< the service for want of which it failed, if that is the reason
  bool is_final = false;  ///< another attempt must not be made: this one's memory is still in use
};

/// The configuration that a version is built with. Completed and checked; parsed once.
struct CompletedConfig {
  std::string bytes;
  inference::ModelConfig message;

  /// Errors: those of parse_config(), and the one that the bytes stand for.
  Status take(Result<std::string> completed) {
    if (!completed.ok()) return std::move(completed).status();
    bytes = std::move(completed).value();
    return parse_config(bytes, &message);
  }
};

/// What all builds share; outlives them.
struct BuildContext {
  Host& host;
  ModelConfigs& configs;
  ServingContext& serving;
  ModelCatalog& catalog;
  const LoaderOptions& options;
  LeftWarmups& left_warmups;
};

/// The version as it is served, of one that is to take its place. Of both at most one.
struct BuiltBeside {
  /// It is to have other instances or another scheduler: its backend model, its statistics and the instances that stay
  /// are shared with it.
  const ServedModel* base = nullptr;
  /// Nothing but a service behind it is another one: its statistics are shared with it.
  const ServedModel* before = nullptr;
};

/// One attempt at one version, and gone then; what it has made so far goes with it. [worker]
class VersionBuilder {
 public:
  VersionBuilder(const BuildContext& context, const std::shared_ptr<const PreparedModel>& model,
                 const RepositoryVersion& version, const BuiltBeside& served);

  LoadFailure build(std::unique_ptr<ServedModel>* built);

 private:
  LoadFailure configure();
  Status configure_ensemble();
  Status configure_like_base();
  Result<std::string> finish_groups(const std::string& config) const;
  LoadFailure load_backend();
  ModelSource source_of(const inference::ModelConfig& given) const;
  Status complete_config(ModelSource& source, PendingModel* pending);
  Status describe();
  bool is_shared(const std::shared_ptr<StatisticsRecorder>& statistics) const;
  std::string content_id() const;
  LoadFailure add_instances();
  Status make_specs();
  Status create_instances();
  Result<std::shared_ptr<CountedInstance>> create_instance(const InstanceSpec& spec);
  Result<std::unique_ptr<BackendInstance>> create_where_bound(const InstanceSpec& spec);
  LoadFailure create_scheduler();
  Status warm_up(std::unique_ptr<ServedModel>& served);
  void warn_of_unknown_policies();
  void log_changes(const ServedModel& served);

  const BuildContext& context_;
  const PreparedModel& model_;
  const RepositoryVersion& version_;
  const ServedModel* const base_;
  const ServedModel* const before_;
  LongWork::Task task_;
  CompletedConfig config_;
  ModelContent content_;  ///< of a model with a response cache
  ModelParts parts_;
  std::vector<std::shared_ptr<QuietSpec>> made_;  ///< where the statistics count others' instances, too
  size_t kept_ = 0;                               ///< instances of the base
};

}  // namespace atl::models
