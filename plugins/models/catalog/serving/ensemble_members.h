/// The members of an ensemble's version.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "models/catalog/serving/prepared_model.h"

namespace atl::models {

/// Holds what serves each step from the load on: nothing is looked up while requests run, and an ensemble whose
/// members changed goes on with those it was checked against until it has been made anew.
class EnsembleMembers {
 public:
  EnsembleMembers() noexcept = default;
  EnsembleMembers(EnsembleMembers&&) noexcept = default;
  EnsembleMembers& operator=(EnsembleMembers&& other) noexcept {
    release();
    held_ = std::move(other.held_);
    by_step_ = std::move(other.by_step_);
    return *this;
  }
  ~EnsembleMembers() { release(); }
  /// \param catalog  finds them, by name or identifier: versions that the loader made \param members  one for each
  /// step
  /// Errors: as ModelCatalog::acquire().
  static Result<EnsembleMembers> hold(ModelCatalog& catalog, const std::vector<EnsembleMember>& members);

  /// One for each step; steps of the same model have the same.
  std::span<Model* const> by_step() const noexcept { return by_step_; }
  /// Whether one of them may answer a request with any number of responses: then so does the ensemble.
  bool any_decoupled() const noexcept;

 private:
  void release() noexcept;

  std::vector<ModelRef> held_;
  std::vector<Model*> by_step_;
};

}  // namespace atl::models
