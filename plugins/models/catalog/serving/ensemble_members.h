/// The members of an ensemble as its scheduler calls them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "atoll/model.h"
#include "atoll/scheduler.h"
#include "models/catalog/serving/prepared_model.h"

namespace atl::models {

class EnsembleMembers {
 public:
  EnsembleMembers() noexcept = default;
  /// \param catalog  finds them, by name or identifier; outlives this \param members  one for each step
  EnsembleMembers(ModelCatalog& catalog, const std::vector<EnsembleMember>& members);

  /// One for each step; steps of the same model have the same.
  std::span<MemberModel* const> by_step() const noexcept { return by_step_; }

 private:
  class Member;
  std::vector<std::shared_ptr<Member>> members_;
  std::vector<MemberModel*> by_step_;
};

}  // namespace atl::models
