/// One call of ModelCatalog::load() or unload(): gathers the results of its models and reports them once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/executor.h"
#include "atoll/gate.h"
#include "atoll/model.h"

namespace atl::models {

/// [any] Held by the operations it waits for.
class LoadCall : public std::enable_shared_from_this<LoadCall> {
 public:
  using Done = std::function<void(std::vector<ModelLoadResult>)>;

  LoadCall(WorkerPool& workers, Gate& gate, std::vector<std::string> models, Done done)
      : workers_(workers), pass_(gate), done_(std::move(done)), left_(models.size() + 1) {
    for (std::string& model : models) results_.push_back({std::move(model), {}});
  }
  size_t size() const noexcept { return results_.size(); }
  const std::string& model(size_t i) const noexcept { return results_[i].model; }

  /// Once for each model.
  void finish(size_t i, Status status) {
    {
      std::scoped_lock lock(mutex_);
      results_[i].status = std::move(status);
    }
    step();
  }
  /// Once, when every model has been started.
  void all_started() { step(); }

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
  void report() { std::exchange(done_, nullptr)(std::move(results_)); }

  WorkerPool& workers_;
  Pass pass_;
  std::mutex mutex_;
  Done done_;
  std::vector<ModelLoadResult> results_;
  size_t left_;
};

}  // namespace atl::models
