// Calls of clients, who name models, where models are known by identifiers.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "atoll/model_identifier.h"
#include "models/catalog/catalog.h"

namespace atl::models {
namespace {

/// A load of one request for several identifiers, one after the other. Frees itself with its last step.
struct SeveralLoads {
  ModelLoadRequest request;
  std::vector<std::string> identifiers;
  std::function<void(ModelLoadOutcome)> done;
  ModelLoadOutcome outcome{{}, true};  ///< the first failure
};

void load_next(Lifecycle& lifecycle, const std::shared_ptr<SeveralLoads>& loads) {
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

}  // namespace

void Catalog::load_namespaced(std::vector<std::string> models,
                              std::function<void(std::vector<ModelLoadResult>)> done) {
  Pass pass(host_.gate());
  if (!pass) {
    std::vector<ModelLoadResult> refused;
    for (std::string& model : models) refused.push_back({std::move(model), unavailable("Server exiting")});
    return done(std::move(refused));
  }
  // The repositories say which models have a name, and may be asked on workers only.
  host_.workers().run(make_task([this, models = std::move(models), done = std::move(done),
                                 pass = std::move(pass)]() mutable {
    Result<std::vector<RepositoryEntry>> entries = std::vector<RepositoryEntry>();
    if (!std::all_of(models.begin(), models.end(), is_model_identifier)) entries = repository_->list();
    std::vector<std::string> identifiers;
    std::vector<std::pair<std::string, size_t>> counts;
    for (const std::string& model : models) {
      std::vector<std::string> of_model{model};
      if (!is_model_identifier(model) && entries.ok()) of_model = listed_identifiers(entries.value(), model);
      counts.emplace_back(model, of_model.size());
      identifiers.insert(identifiers.end(), of_model.begin(), of_model.end());
    }
    lifecycle_.load(identifiers, [counts, done = std::move(done)](std::vector<ModelLoadOutcome> outcomes) {
      done(by_name(counts, std::move(outcomes)));
    });
  }));
}

void Catalog::load_model_namespaced(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) {
  if (!request.files.empty()) {
    request.model = model_identifier_of({}, request.model);
    return lifecycle_.load(std::move(request), std::move(done));
  }
  Pass pass(host_.gate());
  if (!pass) return done({unavailable("Server exiting")});
  auto loads = std::make_shared<SeveralLoads>(SeveralLoads{std::move(request), {}, std::move(done)});
  host_.workers().run(make_task([this, loads, pass = std::move(pass)] {
    Result<std::vector<RepositoryEntry>> entries = std::vector<RepositoryEntry>();
    if (!is_model_identifier(loads->request.model)) entries = repository_->list();
    if (!entries.ok()) return loads->done({std::move(entries).status()});
    loads->identifiers = listed_identifiers(entries.value(), loads->request.model);
    load_next(lifecycle_, loads);
  }));
}

std::vector<std::string> Catalog::loaded_identifiers(const std::vector<std::string>& models) const {
  const std::set<std::string_view> wanted(models.begin(), models.end());
  return lifecycle_.look([&](const ModelRecords& records) {
    std::vector<std::string> identifiers;
    for (const auto& [identifier, record] : records.all()) {
      if (wanted.contains(identifier) || wanted.contains(model_name_of(identifier)))
        identifiers.push_back(identifier);
    }
    return identifiers;
  });
}

std::string Catalog::the_only_identifier(std::string_view name) const {
  if (!options_.loader.namespacing || is_model_identifier(name)) return std::string(name);
  return lifecycle_.look([&](const ModelRecords& records) {
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
