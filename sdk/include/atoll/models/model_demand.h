/// Models that are loaded because a request asks for them. Service "atoll.model_demand/1", provided by
/// control plugins that work so; a server may have none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/cancellation.h"

namespace atl {

/// Who waits for a model. Lives until it was told.
class ModelWaiter {
 public:
  /// The model, or why there is none. Told once, on any thread, perhaps before await() has returned; must be
  /// short. The cancellation that was given has no listener any more.
  virtual void on_model(Result<ModelRef> model) noexcept = 0;

 protected:
  ~ModelWaiter() = default;
};

/// What a request asks for. Borrowed during await(), the cancellation until the waiter is told.
struct WantedModel {
  std::string_view name;
  int64_t version = ModelCatalog::kLatest;
  int64_t deadline_ns = 0;               ///< of the request, steady clock; 0: none
  Cancellation* cancellation = nullptr;  ///< of the request; ends the waiting. Nobody else listens to it.
};

class ModelDemand {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_demand/1";

  /// [request] For a model that ModelCatalog::acquire() has just not found. OK: it is loaded, or being
  /// loaded, and the waiter is told. Otherwise the waiter is not told, and the failure is the request's
  /// answer. Errors: those of ModelCatalog::acquire() for a model that is not loaded on demand; the failure
  /// of a load that ended a moment ago; UNAVAILABLE too many wait already, or the server is exiting;
  /// CANCELLED. The waiter is told: what acquire() says then; the load's failure; DEADLINE_EXCEEDED the
  /// request's own deadline; UNAVAILABLE it takes longer than the service waits; CANCELLED.
  virtual Status await(const WantedModel& wanted, ModelWaiter& waiter) noexcept = 0;
  /// [any] What the index says of a model that this service would load; empty: it would not load it.
  virtual std::string unloaded_reason(std::string_view name) const noexcept = 0;

 protected:
  ~ModelDemand() = default;
};

}  // namespace atl
