/// Loads, reloads and unloads: which versions are there, in which state, and what changes them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/events.h"
#include "models/catalog/states/lifecycle_state.h"
#include "models/catalog/states/load_call.h"
#include "models/catalog/states/model_load.h"

namespace atl::models {

/// [any]
class ModelLifecycle {
 public:
  ModelLifecycle(Host& host, ServingTable& table) : state_(host, table) {}
  ~ModelLifecycle() { state_.records.forget_events(); }

  /// Before anything else; the loader outlives the last operation.
  void use(Loader* loader) noexcept { state_.loader = loader; }

  using ModelDone = std::function<void(ModelLoadOutcome)>;
  void load(const std::vector<std::string>& models, LoadCall::Done done);
  void load(ModelLoadRequest request, ModelDone done);
  /// From now on a name that no repository has is not remembered when its load fails.
  void end_startup();
  void unload(const std::vector<std::string>& models, LoadCall::Done done);
  void unload(const std::string& model, bool with_members);
  /// The server begins to drain: schedulers take nothing new. Members of ensembles still do, for the sake of
  /// the ensembles' requests that run.
  void stop_accepting();
  /// Ends: no more loads, everything is unloaded as its requests end.
  void end();
  /// When the instance's gate is empty.
  void stop() { state_.memory.stop(); }
  /// A service that a load failed for want of is followed by another load; versions that use one that went
  /// are built on another, or go with it. [control] Does not block.
  void service_changed(const ServiceChanged& event);

  /// Models of repositories that are not among these any more end, unless another one has them: then they are loaded from
  /// there. What clients brought stays. [worker]
  void let_go_of_removed(Repository& repository, const std::vector<std::string>& paths);
  /// Loads a model once more for a reason of the server's own.
  void rebuild(const std::string& model) { ModelLoad::request(state_, model, rebuild_order()); }
  /// Whatever has failed is loaded once more.
  void retry_failed();

  /// Shows each instance of the versions that are there.
  void visit(const LongWork::See& see) const;
  /// What keeps the plugin from being stopped: "2 requests of model 'resnet50'".
  std::string holding() const;
  /// Looks at the records under the lock.
  template <class Read>
  auto read(Read&& function) const {
    std::scoped_lock lock(state_.mutex);
    return function(std::as_const(state_.records));
  }

 private:
  void announce(const ChangedService& change, const std::vector<SchedulerOffer>& offers);

  LifecycleState state_;
};

}  // namespace atl::models
