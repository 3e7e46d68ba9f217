#include "models/catalog/serving/ensemble_members.h"

#include <algorithm>

namespace atl::models {

class EnsembleMembers::Member final : public MemberModel {
 public:
  Member(ModelCatalog& catalog, EnsembleMember member) noexcept
      : catalog_(catalog), member_(std::move(member)) {}
  Result<ModelRef> acquire() noexcept override { return catalog_.acquire(member_.model, member_.version); }
  const EnsembleMember& member() const noexcept { return member_; }

 private:
  ModelCatalog& catalog_;
  const EnsembleMember member_;
};

EnsembleMembers::EnsembleMembers(ModelCatalog& catalog, const std::vector<EnsembleMember>& members) {
  for (const EnsembleMember& member : members) {
    auto same = std::find_if(members_.begin(), members_.end(), [&](const auto& known) {
      return known->member().model == member.model && known->member().version == member.version;
    });
    if (same == members_.end()) {
      same = members_.insert(same, std::make_shared<Member>(catalog, member));
    }
    by_step_.push_back(same->get());
  }
}

}  // namespace atl::models
