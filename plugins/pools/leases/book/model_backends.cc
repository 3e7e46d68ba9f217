#include "pools/leases/book/model_backends.h"

namespace atl::pools {

bool ModelBackends::remember(const LeasedModel& model) {
  BackendSet backends;
  for (const std::string& backend : model.backends) {
    if (!check_name("backend", backend).ok() || !names_.add(backend, backends)) return false;
  }
  if (models_.size() >= kModelsMax) models_.erase(models_.begin());
  models_.insert_or_assign({model.name, model.source}, backends);
  return true;
}

std::optional<BackendSet> ModelBackends::of(const LeaseDefinition& lease) const {
  BackendSet set;
  for (const LeaseModel& model : lease.models) {
    const auto known = models_.find({model.name, model.source});
    if (known == models_.end()) return std::nullopt;
    set |= known->second;
  }
  return set;
}

PlaceNeeds ModelBackends::needs_of(const LeaseDefinition& lease) const {
  PlaceNeeds needs{lease.quota, of(lease), {}};
  for (const LeaseModel& model : lease.models) needs.models.push_back(model.name);
  return needs;
}

}  // namespace atl::pools
