#include "models/catalog/serving/serving_table.h"

#include <algorithm>

#include "atoll/models/model_identifier.h"

namespace atl::models {

ModelRef ServingTable::acquire(std::string_view name, int64_t version) noexcept {
  ReaderShards::Read lock(shards_);
  auto found = models_.find(name);
  if (found == models_.end()) return {};
  const std::vector<ServedModel*>& versions = found->second;
  ServedModel* model = nullptr;
  if (version == ModelCatalog::kLatest) {
    model = versions.back();
  } else {
    for (ServedModel* candidate : versions) {
      if (candidate->info().version == version) model = candidate;
    }
  }
  if (model == nullptr) return {};
  model->add_reference(lock);
  return ModelRef(model);
}

void ServingTable::publish(const std::string& name, std::vector<ServedModel*> versions) {
  std::vector<ServedModel*> ended;
  bool finishes = false;
  {
    ReaderShards::Write lock(shards_);
    std::vector<ServedModel*> before;
    if (versions.empty()) {
      if (auto found = models_.find(name); found != models_.end()) {
        before = std::move(found->second);
        models_.erase(found);
      }
    } else {
      std::vector<ServedModel*>& slot = models_[name];
      before = std::move(slot);
      slot = versions;
    }
    if (namespaces_) point_name_at_its_holder(name, !versions.empty());
    for (ServedModel* model : before) {
      bool kept = std::find(versions.begin(), versions.end(), model) != versions.end();
      if (kept) continue;
      finishes |= finishing_.add(lock, name, *model);
      if (model->retire(lock)) ended.push_back(model);
    }
  }
  if (finishes) finishing_.watch();
  for (ServedModel* model : ended) model->destroy_later();
}

void ServingTable::point_name_at_its_holder(const std::string& identifier, bool serves) {
  const std::string name(model_name_of(identifier));
  std::set<std::string>& holders = holders_[name];
  if (serves) {
    holders.insert(identifier);
  } else {
    holders.erase(identifier);
  }
  if (holders.size() == 1) {
    models_[name] = models_[*holders.begin()];
  } else {
    models_.erase(name);
  }
  if (holders.empty()) holders_.erase(name);
}

uint64_t ServingTable::open_sequences() const noexcept {
  ReaderShards::Read lock(shards_);
  uint64_t open = 0;
  for (const auto& [name, versions] : models_) {
    for (const ServedModel* version : versions) open += version->parts().scheduler->open_sequences();
  }
  return open;
}

size_t ServingTable::holders(std::string_view name) const noexcept {
  ReaderShards::Read lock(shards_);
  auto found = holders_.find(name);
  return found == holders_.end() ? 0 : found->second.size();
}

}  // namespace atl::models
