/// Somebody who looks on: sees clients' requests with their tensors as they arrive at their models, and all that they are
/// answered, and changes nothing. Service "atoll.request_observer/1", provided by telemetry/recorder.
///
/// Who is told. The model catalog tells every active provider, the one of the highest rank first; of equal ranks, the one
/// whose instance's name is first. At most 8 providers are told. One that comes sees requests that come after it. One that
/// goes still sees the ends of those that it has begun to observe, and the server waits for these. Without an active
/// provider a request pays one load and one branch.
///
/// What is seen. Every request of a client, before it is validated: also one that is refused, or that the response cache
/// answers. Not seen are requests that the server makes for others (kIsStep), such as an ensemble's steps, and those with
/// kShadow. What never reaches a model, such as a message that cannot be read, is not seen either.
///
///     RequestObservation* begin(const Request& request) noexcept override {
///       return interesting(request) ? new MyObservation(request) : nullptr;
///     }
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"

namespace atl {

/// One request that is observed. Its functions are called one at a time, on any thread, mostly one that is about to do
/// something else: they copy what they want to keep, and do not block.
class RequestObservation {
 public:
  /// A response on its way to the sink, with shapes as the client sees them. It may have outputs that the client did not
  /// ask for (Request::find_output()). Outputs in a device's memory may be written yet (Buffer::ready_after). [request]
  /// \param response  null: there is none, only the flags count
  /// \param flags     ResponseFlags
  virtual void on_response(const Request& request, const Response* response, uint32_t flags) noexcept = 0;
  /// The last call: the request has been refused, or was answered and released. The observation may delete itself.
  /// [request]
  /// \param refusal  why the request was refused; OK: it was not
  virtual void ended(const Request& request, const Status& refusal) noexcept = 0;

 protected:
  ~RequestObservation() = default;
};

/// Service "atoll.request_observer/1".
class RequestObserver {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.request_observer/1";

  /// False: nothing is observed, so nobody need ask. Must not change while the service is held. [any]
  virtual bool active() const noexcept = 0;
  /// A request has come to its model, with inputs and outputs as the client named them; a raw input has the model's name,
  /// type and shape already. The bytes of inputs stay until the request is released. Must not block. [request]
  /// \returns what observes it, and is told its end; null: this request is not observed
  virtual RequestObservation* begin(const Request& request) noexcept = 0;

 protected:
  ~RequestObserver() = default;
};

}  // namespace atl
