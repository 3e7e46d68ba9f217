#include "serving_table.h"

#include <algorithm>

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
    for (ServedModel* model : before) {
      bool kept = std::find(versions.begin(), versions.end(), model) != versions.end();
      if (!kept && model->retire(lock)) ended.push_back(model);
    }
  }
  for (ServedModel* model : ended) model->destroy_later();
}

}  // namespace atl::models
