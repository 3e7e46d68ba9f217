/// One request that somebody observes, from its arrival to its end.
#pragma once

#include <cstddef>

#include "atoll/core/open_parts.h"
#include "atoll/request/request_observer.h"
#include "atoll/request/sink_interposer.h"
#include "models/catalog/requests/provider_point.h"

namespace atl::models {

/// In the request's arena. The request's sink from its arrival on, so that it sees what the client gets.
class ObservedRequest final : public SinkInterposer {
 public:
  /// \param hold  into the observers; gate->leave() is owed to this function from now on
  /// \returns null: nobody wants this request
  static ObservedRequest* begin(Request& request, ObserverPoint::Hold hold) noexcept;
  /// The request could not be handed on: the observers are told, and it has its own sink again.
  void refuse(Request& request, const Status& reason) noexcept;

  // --- ResponseSink ---
  void send(Response* response, uint32_t flags) noexcept override;
  void released(Request& request) noexcept override;

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };

  friend class atl::Arena;
  ObservedRequest(const Request& request, Gate& gate, RequestObservation** observations) noexcept
      : request_(request), gate_(gate), observations_(observations) {}
  void end(const Status& refusal) noexcept;

  const Request& request_;
  Gate& gate_;
  RequestObservation** observations_;  ///< in the arena
  size_t count_ = 0;
  OpenParts parts_{kFinalPart | kReleasePart};
};

}  // namespace atl::models
