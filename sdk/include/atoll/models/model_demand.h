/// Models that are loaded because a request asks for them. Service "atoll.model_demand/1", provided by
/// control/on_demand; a server may have none.
///
/// A frontend asks after a look-up has failed, so models that are loaded cost nothing more:
///
///     Result<ModelRef> found = catalog->acquire(name, version);
///     if (!found.ok() && demand) {
///       Status waits = demand->await({name, version, deadline_ns, &request.cancellation}, *this);
///       if (waits.ok()) return;  // on_model() goes on
///       return answer(std::move(waits));
///     }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/cancellation.h"

namespace atl {

/// Who waits for a model. Has to live until on_model() was called.
class ModelWaiter {
 public:
  /// Gives the model, or says why there is none. Called once for each await() that returned OK, on any
  /// thread, perhaps before await() has returned. It must be short. The cancellation that was given has no
  /// listener any more.
  virtual void on_model(Result<ModelRef> model) noexcept = 0;

 protected:
  ~ModelWaiter() = default;
};

/// What a request asks for. Everything is borrowed during await(), but the cancellation until on_model() is
/// called.
struct WantedModel {
  std::string_view name;
  int64_t version = ModelCatalog::kLatest;
  /// The request's deadline by the host's steady clock, in nanoseconds; 0: none.
  int64_t deadline_ns = 0;
  /// The request's; cancelling it ends the waiting. Nobody else may listen to it meanwhile. Null: the waiting
  /// cannot be cancelled.
  Cancellation* cancellation = nullptr;
};

/// Service "atoll.model_demand/1".
class ModelDemand {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_demand/1";

  /// Loads a model that ModelCatalog::acquire() has just not found, and has the waiter called when it is
  /// there. Any number of requests for one model wait for one load. Must not block. [request]
  /// \returns OK: the waiter is called. Any other: the waiter is not called, and the failure is the request's
  /// answer.
  /// Errors at once: those of ModelCatalog::acquire() for a model that is not loaded on demand; the failure
  /// of a load that ended a moment ago; UNAVAILABLE too many requests wait already, or the server is exiting;
  /// CANCELLED.
  /// Errors that the waiter gets: those of ModelCatalog::acquire() after the load; the load's failure;
  /// DEADLINE_EXCEEDED the request's deadline has passed; UNAVAILABLE the load takes longer than the service
  /// lets requests wait; CANCELLED.
  virtual Status await(const WantedModel& wanted, ModelWaiter& waiter) noexcept = 0;
  /// What the repository index says of a model that is not loaded and that this service would load; empty: it
  /// would not load it. [any]
  virtual std::string unloaded_reason(std::string_view name) const noexcept = 0;

 protected:
  ~ModelDemand() = default;
};

}  // namespace atl
