/// The backends of the models that were deployed once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "pools/leases/book/records.h"

namespace atl::pools {

/// A model is known by its name and its source. Pure book-keeping: what is remembered has been recorded, or is about to be. It has no
/// lock: it is used on the executor of the PoolContext alone.
class ModelBackends {
 public:
  BackendNames& names() noexcept { return names_; }
  const BackendNames& names() const noexcept { return names_; }
  bool is_known(const LeaseModel& model) const { return models_.contains({model.name, model.source}); }
  /// \returns false if its backends have names that cannot be used, or too many of them; then it stays unknown
  bool remember(const LeasedModel& model);
  /// Those of all models of a lease. Nothing: those of one of them are not known.
  std::optional<BackendSet> of(const LeaseDefinition& lease) const;
  /// What the lease takes of an instance. \returns views of the definition's texts
  PlaceNeeds needs_of(const LeaseDefinition& lease) const;

 private:
  static constexpr size_t kModelsMax = 100'000;

  BackendNames names_;
  std::map<std::pair<std::string, std::string>, BackendSet> models_;
};

}  // namespace atl::pools
