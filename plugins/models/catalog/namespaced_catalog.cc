#include "models/catalog/namespaced_catalog.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "atoll/models/model_identifier.h"

namespace atl::models {
namespace {

/// A load of one request for several identifiers, one after the other. Frees itself with its last step.
struct SeveralLoads {
  ModelLoadRequest request;
  std::vector<std::string> identifiers;
  std::function<void(ModelLoadOutcome)> done;
  ModelLoadOutcome outcome{{}, true};  ///< the first failure
};

void load_next(ModelLifecycle& lifecycle, const std::shared_ptr<SeveralLoads>& loads) {
  if (loads->identifiers.empty()) return loads->done(std::move(loads->outcome));
  ModelLoadRequest request;
  request.model = std::move(loads->identifiers.back());
  request.config = loads->request.config;
  request.refresh_members = loads->request.refresh_members;
  loads->identifiers.pop_back();
  lifecycle.load(std::move(request), [&lifecycle, loads](ModelLoadOutcome outcome) {
    if (loads->outcome.status.ok() && !outcome.status.ok()) loads->outcome = std::move(outcome);
    load_next(lifecycle, loads);
  });
}

/// The identifiers of a name in a listing; the name itself if there is none, so that the load says so.
std::vector<std::string> listed_identifiers(const std::vector<RepositoryEntry>& entries,
                                            const std::string& model) {
  std::vector<std::string> identifiers;
  for (const RepositoryEntry& entry : entries) {
    if (model_name_of(entry.name) == model) identifiers.push_back(entry.name);
  }
  if (identifiers.empty()) identifiers.push_back(model);
  return identifiers;
}

/// One result a name again: the first failure of its identifiers.
std::vector<ModelLoadResult> by_name(const std::vector<std::pair<std::string, size_t>>& counts,
                                     std::vector<ModelLoadOutcome> outcomes) {
  std::vector<ModelLoadResult> results;
  size_t next = 0;
  for (const auto& [model, count] : counts) {
    ModelLoadResult result{model, {}};
    for (size_t i = 0; i < count; ++i, ++next) {
      if (result.status.ok()) result.status = std::move(outcomes[next].status);
    }
    results.push_back(std::move(result));
  }
  return results;
}

/// Whether members are in no repository any more, and each of them has another model of its name that would be linked
/// in its place.
bool has_other_members(std::string_view ensemble, const std::vector<EnsembleMember>& members,
                       const std::vector<RepositoryEntry>& entries) {
  bool any_gone = false;
  for (const EnsembleMember& member : members) {
    size_t others = 0;
    bool is_there = false;
    bool is_own = false;
    for (const RepositoryEntry& entry : entries) {
      if (model_name_of(entry.name) != model_name_of(member.model)) continue;
      ++others;
      is_there |= entry.name == member.model;
      is_own |= model_namespace_of(entry.name) == model_namespace_of(ensemble);
    }
    if (is_there) continue;
    if (others != 1 && !is_own) return false;
    any_gone = true;
  }
  return any_gone;
}

/// The index knows no repositories.
void show_names(std::vector<ModelIndexEntry>* entries) {
  for (ModelIndexEntry& entry : *entries) entry.name = std::string(model_name_of(entry.name));
  std::stable_sort(entries->begin(), entries->end(),
                   [](const ModelIndexEntry& a, const ModelIndexEntry& b) { return a.name < b.name; });
}

}  // namespace

Result<ModelRef> NamespacedCatalog::acquire(std::string_view name, int64_t version) noexcept {
  // A plain name that one model serves is in the table.
  if (ModelRef model = catalog_.table().acquire(name, version)) return model;
  ATOLL_RETURN_IF_ERROR(catalog_.check_phase());
  if (const size_t holders = catalog_.table().holders(name); holders > 1) {
    return invalid_argument("There are ", holders, " identifiers of model '", name,
                            "' in global map, model namespace must be provided to resolve ambiguity.");
  }
  const std::string identifier = the_only_identifier(name);
  return catalog_.lifecycle().read(
      [&](const ModelRecords& records) { return records.lookup_failure(identifier, version, name); });
}

ModelRef NamespacedCatalog::finishing(std::string_view name, int64_t version,
                                      const SequenceId& sequence) noexcept {
  if (ModelRef model = catalog_.finishing(name, version, sequence)) return model;
  return catalog_.finishing(the_only_identifier(name), version, sequence);
}

Result<std::vector<int64_t>> NamespacedCatalog::ready_versions(std::string_view name) const noexcept {
  return catalog_.ready_versions_of(the_only_identifier(name), name);
}

Result<std::vector<ModelStatistics>> NamespacedCatalog::statistics(std::string_view name,
                                                                   int64_t version) const noexcept {
  return catalog_.counts().of(name, version, [name](std::string_view model) {
    return model == name || model_name_of(model) == name;
  });
}

Result<std::vector<ModelIndexEntry>> NamespacedCatalog::index(bool ready_only) noexcept {
  auto entries = catalog_.index(ready_only);
  if (entries.ok()) show_names(&entries.value());
  return entries;
}

void NamespacedCatalog::load(std::vector<std::string> models,
                             std::function<void(std::vector<ModelLoadResult>)> done) noexcept {
  Pass pass(host_.gate());
  if (!pass) {
    std::vector<ModelLoadResult> refused;
    for (std::string& model : models) refused.push_back({std::move(model), unavailable("Server exiting")});
    return done(std::move(refused));
  }
  // The repositories say which models have a name, and may be asked on workers only.
  host_.workers().run(
      make_task([this, models = std::move(models), done = std::move(done), pass = std::move(pass)]() mutable {
        Result<std::vector<RepositoryEntry>> entries = std::vector<RepositoryEntry>();
        if (!std::all_of(models.begin(), models.end(), is_model_identifier))
          entries = catalog_.repository().list();
        std::vector<std::string> identifiers;
        std::vector<std::pair<std::string, size_t>> counts;
        for (const std::string& model : models) {
          std::vector<std::string> of_model{model};
          if (!is_model_identifier(model) && entries.ok())
            of_model = listed_identifiers(entries.value(), model);
          counts.emplace_back(model, of_model.size());
          identifiers.insert(identifiers.end(), of_model.begin(), of_model.end());
        }
        catalog_.lifecycle().load(identifiers,
                                  [counts, done = std::move(done)](std::vector<ModelLoadOutcome> outcomes) {
                                    done(by_name(counts, std::move(outcomes)));
                                  });
        relink_ensembles();
      }));
}

void NamespacedCatalog::relink_ensembles() const {
  const auto waiting = catalog_.lifecycle().read([](const ModelRecords& records) {
    std::vector<std::pair<std::string, std::vector<EnsembleMember>>> ensembles;
    for (const auto& [identifier, record] : records.all()) {
      if (record.suspended && !record.loading) ensembles.emplace_back(identifier, record.members);
    }
    return ensembles;
  });
  if (waiting.empty()) return;
  const Result<std::vector<RepositoryEntry>> entries = catalog_.repository().list();
  if (!entries.ok()) return;
  for (const auto& [ensemble, members] : waiting) {
    if (has_other_members(ensemble, members, entries.value())) catalog_.lifecycle().rebuild(ensemble);
  }
}

void NamespacedCatalog::unload(std::vector<std::string> models,
                               std::function<void(std::vector<ModelLoadResult>)> done) noexcept {
  catalog_.unload(loaded_identifiers(models), std::move(done));
}

void NamespacedCatalog::load_model(ModelLoadRequest request,
                                   std::function<void(ModelLoadOutcome)> done) noexcept {
  if (!request.files.empty()) {
    request.model = model_identifier_of({}, request.model);
    return catalog_.lifecycle().load(std::move(request), std::move(done));
  }
  Pass pass(host_.gate());
  if (!pass) return done({unavailable("Server exiting")});
  auto loads = std::make_shared<SeveralLoads>(SeveralLoads{std::move(request), {}, std::move(done)});
  host_.workers().run(make_task([this, loads, pass = std::move(pass)] {
    Result<std::vector<RepositoryEntry>> entries = std::vector<RepositoryEntry>();
    if (!is_model_identifier(loads->request.model)) entries = catalog_.repository().list();
    if (!entries.ok()) return loads->done({std::move(entries).status()});
    loads->identifiers = listed_identifiers(entries.value(), loads->request.model);
    load_next(catalog_.lifecycle(), loads);
  }));
}

void NamespacedCatalog::unload_model(std::string model, bool with_members,
                                     std::function<void(Status)> done) noexcept {
  for (const std::string& identifier : loaded_identifiers({std::move(model)})) {
    catalog_.lifecycle().unload(identifier, with_members);
  }
  done({});
}

std::vector<std::string> NamespacedCatalog::loaded_identifiers(const std::vector<std::string>& models) const {
  const std::set<std::string_view> wanted(models.begin(), models.end());
  return catalog_.lifecycle().read([&](const ModelRecords& records) {
    std::vector<std::string> identifiers;
    for (const auto& [identifier, record] : records.all()) {
      if (wanted.contains(identifier) || wanted.contains(model_name_of(identifier)))
        identifiers.push_back(identifier);
    }
    return identifiers;
  });
}

std::string NamespacedCatalog::the_only_identifier(std::string_view name) const {
  if (is_model_identifier(name)) return std::string(name);
  return catalog_.lifecycle().read([&](const ModelRecords& records) {
    std::string only(name);
    for (const auto& [identifier, record] : records.all()) {
      // One that serves, else any.
      if (model_name_of(identifier) == name && (record.has_ready() || !is_model_identifier(only)))
        only = identifier;
    }
    return only;
  });
}

}  // namespace atl::models
