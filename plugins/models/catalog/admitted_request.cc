#include "admitted_request.h"

#include <utility>

#include "served_model.h"

namespace atl::models {

Status AdmittedRequest::ask(ServedModel& model, AdmissionPoint::Hold hold, Request& request,
                            uint64_t priority) noexcept {
  auto* admitted = request.arena().make<AdmittedRequest>(model, hold);
  AdmissionTicket ticket;
  Result<AdmissionOutcome> outcome = hold.service->ask(request, priority, *admitted, &ticket);
  if (!outcome.ok()) {
    hold.gate->leave();
    model.report_not_admitted(request, outcome.status());
    return std::move(outcome).status();
  }
  if (outcome.value() == AdmissionOutcome::kWaits) return {};
  admitted->ticket_ = ticket;
  admitted->interpose(request);
  Status status = model.hand_over(request, request.times.start_ns);
  if (!status.ok()) {
    request.sink = admitted->next_;
    End{hold, ticket}();
  }
  return status;
}

void AdmittedRequest::resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept {
  if (!outcome.ok()) {
    Gate* gate = hold_.gate;
    model_->report_not_admitted(request, outcome);
    fail_request(request, std::move(outcome));
    gate->leave();
    return;
  }
  ticket_ = ticket;
  interpose(request);
  if (Status status = model_->hand_over(request, 0); !status.ok()) fail_request(request, std::move(status));
}

void AdmittedRequest::interpose(Request& request) noexcept {
  next_ = request.sink;
  request.sink = this;
}

Response* AdmittedRequest::new_response() noexcept {
  Response* response = next_->new_response();
  response->sink = this;
  return response;
}

void AdmittedRequest::send(Response* response, uint32_t flags) noexcept {
  // After the part that comes last the request, and this object with it, may be gone.
  const End end{hold_, ticket_};
  const bool ends = (flags & kFinal) != 0 && is_last(kFinalPart);
  if (response != nullptr) response->sink = next_;
  next_->send(response, flags);
  if (ends) end();
}

void AdmittedRequest::discard(Response* response) noexcept {
  response->sink = next_;
  next_->discard(response);
}

void AdmittedRequest::released(Request& request) noexcept {
  const End end{hold_, ticket_};
  ResponseSink* next = next_;
  request.sink = next;
  const bool ends = is_last(kReleasePart);
  next->released(request);
  if (ends) end();
}

}  // namespace atl::models
