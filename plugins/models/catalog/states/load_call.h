/// One call that loads or unloads models: gathers how each of them ended and reports it once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/models/model.h"

namespace atl::models {

/// [any] Held by the operations it waits for.
class LoadCall : public std::enable_shared_from_this<LoadCall> {
 public:
  using Done = std::function<void(std::vector<ModelLoadOutcome>)>;

  LoadCall(WorkerPool& workers, Gate& gate, size_t models, Done done)
      : workers_(workers), pass_(gate), done_(std::move(done)), outcomes_(models), left_(models + 1) {}

  /// Once for each model.
  void finish(size_t i, const ModelLoadOutcome& outcome) {
    {
      std::scoped_lock lock(mutex_);
      outcomes_[i] = {outcome.status.clone(), outcome.was_read};
    }
    step();
  }
  /// Once, when every model has been begun.
  void all_begun() { step(); }

 private:
  void step() {
    {
      std::scoped_lock lock(mutex_);
      if (--left_ != 0) return;
    }
    // With the gate closed nothing may be left on a worker, so the caller's thread has to do.
    if (!pass_) return report();
    workers_.run(make_task([self = shared_from_this()] { self->report(); }));
  }
  /// The callback is the caller's code: it goes with its call, not with this object.
  void report() { std::exchange(done_, nullptr)(std::move(outcomes_)); }

  WorkerPool& workers_;
  Pass pass_;
  std::mutex mutex_;
  Done done_;
  std::vector<ModelLoadOutcome> outcomes_;
  size_t left_;
};

}  // namespace atl::models
