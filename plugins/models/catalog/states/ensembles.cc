#include "models/catalog/states/ensembles.h"

#include <algorithm>

namespace atl::models {
namespace {

/// Depth first; a model is looked at once. \param path  from the end to the beginning
bool reaches(const WaitGraph& waits, const std::string& from, const std::string& to,
             std::set<std::string>* visited, std::vector<std::string>* path) {
  if (from == to) {
    path->push_back(from);
    return true;
  }
  auto found = waits.find(from);
  if (found == waits.end() || !visited->insert(from).second) return false;
  for (const std::string& next : found->second) {
    if (!reaches(waits, next, to, visited, path)) continue;
    path->push_back(from);
    return true;
  }
  return false;
}

bool is_absent(const ModelRecords& records, const std::string& model,
               const std::map<std::string, Status>& failures) {
  auto failure = failures.find(model);
  if (failure == failures.end()) return records.find(model) == nullptr;
  Code code = failure->second.code();
  const ModelRecord* record = records.find(model);
  bool known = record != nullptr && !record->versions.empty();
  return !known && (code == Code::kNotFound || code == Code::kFailedPrecondition);
}

Status check_member(const ModelRecords& records, const std::string& ensemble, const EnsembleMember& member,
                    const std::map<std::string, Status>& failures) {
  const ModelRecord* record = records.find(member.model);
  auto failure = failures.find(member.model);
  if (record == nullptr || !record->has_ready()) {
    if (failure == failures.end()) {
      return invalid_argument("ensemble '", ensemble, "' depends on '", member.model,
                              "' which has no loaded version.");
    }
    if (record == nullptr || record->versions.empty()) {
      return invalid_argument("ensemble '", ensemble, "' depends on '", member.model,
                              "' which is not valid. Model '", member.model,
                              "' failed with error: ", failure->second.text());
    }
    return invalid_argument("ensemble '", ensemble, "' depends on '", member.model,
                            "' which has no loaded version. Model '", member.model,
                            "' loading failed with error: ", failure->second.text());
  }
  if (member.version == ModelCatalog::kLatest) return {};
  auto version = record->versions.find(member.version);
  if (version != record->versions.end() && version->second.state == VersionState::kReady) return {};
  return invalid_argument("ensemble '", ensemble, "' depends on '", member.model, "' whose required version ",
                          member.version, " is not loaded.");
}

}  // namespace

Status check_cycle(const WaitGraph& waits, const std::string& ensemble, const std::string& member) {
  std::set<std::string> visited;
  std::vector<std::string> cycle;
  if (!reaches(waits, member, ensemble, &visited, &cycle)) return {};
  std::reverse(cycle.begin(), cycle.end());
  // Which of them is found last depends on the order of loading.
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  Status failure = invalid_argument("circular dependency between ensembles: ", cycle.front(), " -> ... -> ",
                                    cycle.back(), " -> ", cycle.front());
  if (cycle.size() <= 2) return failure;
  std::string all;
  for (const std::string& name : cycle) all += cat(name, " -> ");
  return std::move(failure).note(all + cycle.front());
}

bool is_used_by_ensemble(const ModelRecords& records, std::string_view model) {
  for (const std::string& name : records.ensembles_above(model)) {
    const ModelRecord& ensemble = *records.find(name);
    if (ensemble.has_ready() || ensemble.loading) return true;
  }
  return false;
}

Status check_members(const ModelRecords& records, const std::string& ensemble,
                     const std::vector<EnsembleMember>& members,
                     const std::map<std::string, Status>& failures) {
  std::string absent;
  for (const EnsembleMember& member : members) {
    if (!is_absent(records, member.model, failures)) continue;
    absent += cat(absent.empty() ? "" : ", ", member.model);
  }
  if (!absent.empty()) {
    return invalid_argument("ensemble ", ensemble,
                            " contains models that are not available or ambiguous: ", absent);
  }
  for (const EnsembleMember& member : members) {
    ATOLL_RETURN_IF_ERROR(check_member(records, ensemble, member, failures));
  }
  return {};
}

}  // namespace atl::models
