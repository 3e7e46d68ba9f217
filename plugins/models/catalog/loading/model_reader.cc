#include "models/catalog/loading/model_reader.h"

#include <utility>

#include "atoll/models/model_identifier.h"
#include "model_config.pb.h"
#include "models/catalog/loading/model_info.h"
#include "models/catalog/loading/run_agents.h"

namespace atl::models {
namespace {

std::vector<EnsembleMember> members_of(const inference::ModelConfig& config) {
  std::vector<EnsembleMember> members;
  for (const auto& step : config.ensemble_scheduling().step()) {
    members.push_back(
        {step.model_name(), step.model_version() > 0 ? step.model_version() : ModelCatalog::kLatest});
  }
  return members;
}

/// What agents prepared stays as long as it is served.
bool keep_prepared(const PreparedModel& loaded, PreparedModel& prepared, PrepareProgress* progress) {
  std::shared_ptr<AgentRun> agents = loaded.agents.lock();
  if (agents == nullptr || !agents->is_loaded()) return false;
  prepared.files = loaded.files;
  prepared.original = loaded.original;
  prepared.held = loaded.held;
  prepared.agents = agents;
  progress->agents = std::move(agents);
  return true;
}

}  // namespace

Result<PreparedModel> ModelReader::read(const std::string& model, LoadOrder& order,
                                        const PreparedModel* loaded, PrepareProgress* progress) {
  PreparedModel prepared;
  ATOLL_RETURN_IF_ERROR(read_files(model, order, loaded, prepared, progress));
  if (progress->agents == nullptr) ATOLL_RETURN_IF_ERROR(prepare_files(prepared, progress));
  for (const std::string& warning : prepared.files.ignored) log_.warning(warning);
  ATOLL_RETURN_IF_ERROR(read_config(model, prepared));
  progress->was_read = true;
  ATOLL_RETURN_IF_ERROR(select_versions(model, prepared));
  return prepared;
}

Status ModelReader::read_files(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                               PreparedModel& prepared, PrepareProgress* progress) {
  // Whoever loads it for a reason of the server's own, or by its name because it is to be served: it stays what the
  // client made it.
  bool as_loaded = loaded != nullptr && order.from_repository() && !order.by_client;
  if (as_loaded && loaded->directory != nullptr) {
    prepared.directory = loaded->directory;
    prepared.config_override = loaded->config_override;
    if (!order.rebuild && keep_prepared(*loaded, prepared, progress)) return {};
    prepared.files = loaded->original != nullptr ? *loaded->original : loaded->files;
    return {};
  }
  const bool has_own_config = order.config.has_value();
  prepared.config_override = std::move(order.config);
  if (!order.files.empty()) {
    if (!prepared.config_override) {
      return invalid_argument("Load parameter 'config' must be specified for model file override");
    }
    Result<PrivateModel> made =
        repository_.open_files(options_.namespacing ? model_name_of(model) : model, order.files);
    order.files = {};
    if (!made.ok()) return std::move(made).status();
    prepared.files = std::move(made->model);
    prepared.directory = std::move(made->directory);
    return {};
  }
  // Before the files are read, so that what changes meanwhile is a change to the next load.
  if (auto stamps = repository_.stamps(model); stamps.ok()) prepared.stamps = std::move(stamps).value();
  Result<RepositoryModel> files = repository_.open(model);
  progress->exists = files.ok() || files.status().code() != Code::kNotFound;
  if (!files.ok()) return std::move(files).status();
  prepared.files = std::move(files).value();
  Result<std::shared_ptr<const void>> held = repository_.hold(prepared.files);
  if (!held.ok()) return std::move(held).status();
  prepared.held = std::move(held).value();
  bool unchanged = loaded != nullptr && !prepared.stamps.empty() && loaded->stamps == prepared.stamps;
  bool keeps_override = unchanged || (as_loaded && order.rebuild);
  if (!prepared.config_override && loaded != nullptr && keeps_override) {
    prepared.config_override = loaded->config_override;
  }
  if (unchanged && !has_own_config && !order.rebuild) (void)keep_prepared(*loaded, prepared, progress);
  return {};
}

Status ModelReader::prepare_files(PreparedModel& prepared, PrepareProgress* progress) {
  Result<std::shared_ptr<AgentRun>> agents = run_agents({registry_, repository_, configs_}, prepared);
  if (agents.ok()) {
    progress->agents = std::move(agents).value();
    return {};
  }
  // One that comes, or has other options, may have them, or may do what this one could not.
  progress->want = {RepositoryAgents::kInterfaceId, {}, true};
  return std::move(agents).status();
}

Status ModelReader::read_config(const std::string& model, PreparedModel& prepared) {
  const bool strict = !options_.auto_complete;
  Result<std::string> bytes = prepared.config_override
                                  ? configs_.read_json(prepared.files, *prepared.config_override, strict)
                                  : configs_.read(prepared.files, strict);
  if (!bytes.ok()) return std::move(bytes).status();
  prepared.config = std::move(bytes).value();
  inference::ModelConfig config;
  ATOLL_RETURN_IF_ERROR(parse_config(prepared.config, &config));
  prepared.ensemble = config.has_ensemble_scheduling();
  prepared.members = members_of(config);
  return options_.namespacing && prepared.ensemble ? find_members(model, config, prepared) : Status();
}

/// Members by identifier: of the ensemble's own repository, else the only one of that name. One that is in
/// none, or in several, stays a name, which no model has then.
Status ModelReader::find_members(const std::string& ensemble, inference::ModelConfig& config,
                                 PreparedModel& prepared) {
  Result<std::vector<RepositoryEntry>> entries = repository_.list();
  if (!entries.ok()) return std::move(entries).status();
  for (size_t i = 0; i < prepared.members.size(); ++i) {
    std::string& member = prepared.members[i].model;
    auto* step = config.mutable_ensemble_scheduling()->mutable_step(static_cast<int>(i));
    step->clear_model_namespace();
    std::string found;
    for (const RepositoryEntry& entry : entries.value()) {
      if (model_name_of(entry.name) != member) continue;
      const bool first = found.empty();
      const bool own = model_namespace_of(entry.name) == model_namespace_of(ensemble);
      found = first || own ? entry.name : std::string(member);
      if (own) break;
    }
    if (!is_model_identifier(found)) continue;
    member = found;
    step->set_model_namespace(std::string(model_namespace_of(found)));
  }
  prepared.config = config.SerializeAsString();
  return {};
}

Status ModelReader::select_versions(const std::string& model, PreparedModel& prepared) {
  std::vector<std::string> warnings;
  auto versions = configs_.select_versions(prepared.config, prepared.files, &warnings);
  for (const std::string& warning : warnings) log_.warning(warning);
  if (!versions.ok()) return std::move(versions).status();
  prepared.versions = std::move(versions).value();
  if (!prepared.versions.empty()) return {};
  return invalid_argument("at least one version must be available under the version policy of model '", model,
                          "'");
}

}  // namespace atl::models
