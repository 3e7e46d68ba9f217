#include "models/catalog/states/model_records.h"

#include <algorithm>
#include <utility>

namespace atl::models {
namespace {

/// The reason without the numbers of processes: each attempt has another one, which makes it no news.
std::string without_processes(std::string_view reason) {
  constexpr std::string_view kWord = "(process ";
  std::string text;
  while (true) {
    const size_t at = reason.find(kWord);
    if (at == std::string_view::npos) return text.append(reason);
    text.append(reason.substr(0, at + kWord.size()));
    reason.remove_prefix(at + kWord.size());
    reason.remove_prefix(std::min(reason.find_first_not_of("0123456789"), reason.size()));
  }
}

/// Why the model counts against strict readiness; empty: it does not.
std::string unready_reason(const ModelRecord& record) {
  if (record.suspended) return {};  // went with a member, whose state counts
  for (const auto& [version, state] : record.versions) {
    if (state.state == VersionState::kFailed) return state.reason;
    if (state.state == VersionState::kRetrying) return "is tried again";
    if (state.served == nullptr) continue;
    if (std::string reason = state.served->unready_reason(); !reason.empty()) return reason;
  }
  return record.has_ready() ? std::string() : record.failure;
}

/// What the index says of a version: of one that serves, why it cannot at the moment, else what was to take its place and failed.
std::string reason_of(const VersionRecord& version) {
  std::string reason = version.served == nullptr ? std::string() : version.served->unready_reason();
  if (!reason.empty()) return reason;
  return version.reload_failure.empty()
             ? version.reason
             : cat("serves what was loaded before the last load failed: ", version.reload_failure);
}

}  // namespace

std::vector<int64_t> ModelRecord::ready_versions() const {
  std::vector<int64_t> ready;
  for (const auto& [version, record] : versions) {
    if (record.state == VersionState::kReady) ready.push_back(version);
  }
  return ready;
}

bool ModelRecord::has_ready() const {
  for (const auto& [version, record] : versions) {
    if (record.state == VersionState::kReady) return true;
  }
  return false;
}

bool ModelRecord::has_failed() const {
  if (has_ready() || suspended) return false;
  return !failure.empty() || std::any_of(versions.begin(), versions.end(), [](const auto& version) {
    return version.second.state == VersionState::kFailed;
  });
}

bool ModelRecord::is_unloaded() const {
  for (const auto& [version, record] : versions) {
    if (record.state != VersionState::kUnloaded) return false;
  }
  return failure.empty() && !loading;
}

bool ModelRecord::is_helped_by(const ChangedService& change) const {
  return std::any_of(wants.begin(), wants.end(), [&](const Want& want) { return may_help(change, want); });
}

bool ModelRecord::fails_alike(std::string_view reason) {
  std::string text = without_processes(reason);
  return std::exchange(logged_failure, text) == text;
}

void ModelRecord::forget_failure() {
  failure.clear();
  logged_failure.clear();
  wants.clear();
  suspended = false;
  for (auto& [version, record] : versions) record.reload_failure.clear();
}

ModelRecord* ModelRecords::find(std::string_view model) {
  auto found = records_.find(model);
  return found == records_.end() ? nullptr : &found->second;
}

const ModelRecord* ModelRecords::find(std::string_view model) const {
  auto found = records_.find(model);
  return found == records_.end() ? nullptr : &found->second;
}

void ModelRecords::set_state(const std::string& model, int64_t version, VersionState state,
                             std::string reason) {
  VersionRecord& record = records_[model].versions[version];
  if (!may_follow(record.state, state)) {
    log_.error("'", model, "' version ", version, ": defect of the catalog: ", version_state_name(state),
               " must not follow ", version_state_name(record.state));
  }
  record.state = state;
  record.reason = std::move(reason);
  record.change = ++last_change_;
  const ModelState shown = to_model_state(state);
  if (shown == ModelState::kUnavailable) unavailable_.push_back({model, version, record.change});
  ModelStateChanged event;
  event.key_text = std::string_view(cat(model, "/", version));
  event.model = std::string_view(model);
  event.version = version;
  event.state = shown;
  event.reason = std::string_view(record.reason);
  events_.publish(event);
}

void ModelRecords::begin_load(const std::string& model, int64_t version) {
  const bool failed = records_[model].versions[version].state == VersionState::kFailed;
  set_state(model, version, failed ? VersionState::kRetrying : VersionState::kLoading, "");
}

void ModelRecords::begin_unload(const std::string& model, int64_t version, std::string reason) {
  VersionRecord& record = records_[model].versions[version];
  record.served = nullptr;
  record.end_reason = std::move(reason);
  set_state(model, version, VersionState::kUnloading, "");
}

void ModelRecords::end(const std::string& model, int64_t version, std::string reason) {
  const VersionState state = reason == kUnloadedReason ? VersionState::kUnloaded : VersionState::kFailed;
  set_state(model, version, state, std::move(reason));
}

void ModelRecords::ended(const std::string& model, int64_t version, uint64_t object) {
  ModelRecord* record = find(model);
  if (record == nullptr) return;
  auto found = record->versions.find(version);
  if (found == record->versions.end() || found->second.object != object) return;
  if (found->second.state != VersionState::kUnloading) return;
  end(model, version, found->second.end_reason);
  trim();
}

void ModelRecords::set_members(const std::string& ensemble, const std::vector<EnsembleMember>& members) {
  ModelRecord& record = records_[ensemble];
  for (const EnsembleMember& member : record.members) {
    auto found = above_.find(member.model);
    if (found == above_.end()) continue;  // a member may be there several times
    found->second.erase(ensemble);
    if (found->second.empty()) above_.erase(found);
  }
  record.members = members;
  for (const EnsembleMember& member : members) above_[member.model].insert(ensemble);
}

std::vector<std::string> ModelRecords::ensembles_above(std::string_view model) const {
  auto found = above_.find(model);
  if (found == above_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void ModelRecords::forget_if_empty(const std::string& model) {
  auto found = records_.find(model);
  if (found == records_.end()) return;
  const ModelRecord& record = found->second;
  if (record.versions.empty() && record.failure.empty() && !record.loading && !record.suspended) {
    set_members(model, {});
    records_.erase(found);
  }
}

void ModelRecords::trim() {
  while (unavailable_.size() > kUnavailableMax) {
    Unavailable oldest = std::move(unavailable_.front());
    unavailable_.pop_front();
    ModelRecord* record = find(oldest.model);
    if (record == nullptr) continue;
    auto version = record->versions.find(oldest.version);
    if (version == record->versions.end() || version->second.change != oldest.change) continue;
    record->versions.erase(version);
    forget_event(oldest.model, oldest.version);
    forget_if_empty(oldest.model);
  }
}

void ModelRecords::forget_events() {
  for (const auto& [model, record] : records_) {
    for (const auto& [version, state] : record.versions) forget_event(model, version);
  }
}

void ModelRecords::forget_event(const std::string& model, int64_t version) {
  FixedText<288> key(cat(model, "/", version));
  events_.forget(ModelStateChanged::kEventId, key.view());
}

Status ModelRecords::lookup_failure(std::string_view model, int64_t version, std::string_view shown) const {
  constexpr std::string_view kPrefix = "Request for unknown model: '";
  const ModelRecord* record = find(model);
  if (!shown.empty()) model = shown;
  if (record == nullptr || record->versions.empty()) return not_found(kPrefix, model, "' is not found");
  if (version == ModelCatalog::kLatest) return not_found(kPrefix, model, "' has no available versions");
  if (!record->versions.contains(version)) {
    return not_found(kPrefix, model, "' version ", version, " is not found");
  }
  return unavailable(kPrefix, model, "' version ", version, " is not at ready state");
}

Unready ModelRecords::unready() const {
  Unready found;
  for (const auto& [model, record] : records_) {
    std::string reason = unready_reason(record);
    if (reason.empty() || found.models++ != 0) continue;
    found.model = model;
    found.reason = std::move(reason);
  }
  return found;
}

bool ModelRecords::append_index(std::string_view model, bool ready_only,
                                std::vector<ModelIndexEntry>* entries) const {
  const ModelRecord* record = find(model);
  if (record == nullptr) return false;
  bool any = false;
  for (const auto& [version, state] : record->versions) {
    any = true;
    if (ready_only && state.state != VersionState::kReady) continue;
    entries->push_back({std::string(model), cat(version),
                        std::string(model_state_name(to_model_state(state.state))), reason_of(state)});
  }
  if (record->failure.empty() || record->has_ready()) return any;
  if (!ready_only) {
    entries->push_back(
        {std::string(model), "", std::string(model_state_name(ModelState::kUnavailable)), record->failure});
  }
  return true;
}

}  // namespace atl::models
