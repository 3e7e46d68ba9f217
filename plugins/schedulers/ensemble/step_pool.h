/// The executions of steps that a run has, used again.
#pragma once

#include <memory>
#include <vector>

#include "schedulers/ensemble/step_list.h"

namespace atl::ensemble {

/// Not thread safe.
class StepPool {
 public:
  StepRun& take(EnsembleRun& run) {
    if (StepRun* step = free_.pop_front()) return *step;
    return *all_.emplace_back(std::make_unique<StepRun>(run));
  }
  void give(StepRun& step) noexcept { free_.push_back(step); }
  /// Those that are in use, and the others.
  const std::vector<std::unique_ptr<StepRun>>& all() const noexcept { return all_; }

 private:
  std::vector<std::unique_ptr<StepRun>> all_;
  StepList free_;
};

}  // namespace atl::ensemble
