#include "models/catalog/serving/ensemble_members.h"

#include <algorithm>
#include <utility>

#include "models/catalog/serving/served_model.h"

namespace atl::models {

Result<EnsembleMembers> EnsembleMembers::hold(ModelCatalog& catalog,
                                              const std::vector<EnsembleMember>& members) {
  EnsembleMembers made;
  for (auto member = members.begin(); member != members.end(); ++member) {
    const auto same = std::find_if(members.begin(), member, [&](const EnsembleMember& known) {
      return known.model == member->model && known.version == member->version;
    });
    if (same != member) {
      made.by_step_.push_back(made.by_step_[static_cast<size_t>(same - members.begin())]);
      continue;
    }
    Result<ModelRef> found = catalog.acquire(member->model, member->version);
    if (!found.ok()) return std::move(found).status();
    static_cast<ServedModel*>(found->get())->add_ensemble();
    made.by_step_.push_back(found->get());
    made.held_.push_back(std::move(found).value());
  }
  return made;
}

void EnsembleMembers::release() noexcept {
  for (const ModelRef& member : held_) static_cast<ServedModel*>(member.get())->drop_ensemble();
  by_step_.clear();
  held_.clear();
}

bool EnsembleMembers::any_decoupled() const noexcept {
  return std::any_of(by_step_.begin(), by_step_.end(),
                     [](const Model* member) { return member->info().decoupled; });
}

}  // namespace atl::models
