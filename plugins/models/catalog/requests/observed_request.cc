#include "models/catalog/requests/observed_request.h"

namespace atl::models {

ObservedRequest* ObservedRequest::begin(Request& request, ObserverPoint::Hold hold) noexcept {
  auto** observations = request.arena().make_array<RequestObservation*>(hold.services.size());
  size_t count = 0;
  for (RequestObserver* observer : hold.services) {
    if (RequestObservation* made = observer->begin(request); made != nullptr) observations[count++] = made;
  }
  if (count == 0) {
    hold.gate->leave();
    return nullptr;
  }
  auto* observed = request.arena().make<ObservedRequest>(request, *hold.gate, observations);
  observed->count_ = count;
  observed->interpose(request);
  return observed;
}

/// Nothing of the observers is used afterwards.
void ObservedRequest::end(const Status& refusal) noexcept {
  for (size_t i = 0; i < count_; ++i) observations_[i]->ended(request_, refusal);
  gate_.leave();
}

void ObservedRequest::refuse(Request& request, const Status& reason) noexcept {
  withdraw(request);
  end(reason);
}

// What is passed on goes last: as soon as both parts have gone by, the request may be used again.
void ObservedRequest::send(Response* response, uint32_t flags) noexcept {
  ResponseSink& sink = next();
  for (size_t i = 0; i < count_; ++i) observations_[i]->on_response(request_, response, flags);
  if ((flags & kFinal) != 0 && parts_.done(kFinalPart)) end({});
  send_to(sink, response, flags);
}

void ObservedRequest::released(Request& request) noexcept {
  ResponseSink& sink = next();
  if (parts_.done(kReleasePart)) end({});
  release_to(sink, request);
}

}  // namespace atl::models
