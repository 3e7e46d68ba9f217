/// How many requests are inside each step of an ensemble.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "schedulers/ensemble/step_list.h"

namespace atl::ensemble {

/// Those that come when a step has its most wait in the order in which they came; no thread waits with them. [any]
class StepGates {
 public:
  /// \param limit  in each step; 0: any number, and nothing is counted
  StepGates(size_t steps, uint32_t limit) : limit_(limit), gates_(limit == 0 ? 0 : steps) {}
  StepGates(const StepGates&) = delete;
  StepGates& operator=(const StepGates&) = delete;

  bool are_limited() const noexcept { return limit_ != 0; }

  /// \returns false: it waits, and is given by leave() when it is its turn, or taken out by remove()
  bool enter(StepRun& run) noexcept {
    if (limit_ == 0) return true;
    std::scoped_lock lock(mutex_);
    Gate& gate = gates_[run.step];
    if (gate.inside < limit_) {
      ++gate.inside;
      return true;
    }
    gate.waiting.push_back(run);
    return false;
  }
  /// One that entered has ended. \returns whose turn it is: it has entered; null: nobody waits
  StepRun* leave(uint32_t step) noexcept {
    if (limit_ == 0) return nullptr;
    std::scoped_lock lock(mutex_);
    Gate& gate = gates_[step];
    StepRun* next = gate.waiting.pop_front();
    if (next == nullptr) --gate.inside;
    return next;
  }
  /// \returns whether it was waiting
  bool remove(const StepRun& run) noexcept {
    if (limit_ == 0) return false;
    std::scoped_lock lock(mutex_);
    return gates_[run.step].waiting.remove(run);
  }

 private:
  struct Gate {
    uint32_t inside = 0;
    StepList waiting;
  };
  const uint32_t limit_;
  std::mutex mutex_;
  std::vector<Gate> gates_;
};

}  // namespace atl::ensemble
