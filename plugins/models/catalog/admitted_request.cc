#include "admitted_request.h"

#include <algorithm>
#include <utility>

#include "served_model.h"

namespace atl::models {

AdmittedRequest::End::End(const AdmittedRequest& request) noexcept
    : hold_(request.hold_), count_(request.admitted_) {
  std::copy_n(request.tickets_, count_, tickets_.begin());
}

void AdmittedRequest::End::operator()() const noexcept {
  for (size_t i = count_; i-- > 0;) hold_.services[i]->ended(tickets_[i]);
  hold_.gate->leave();
}

Status AdmittedRequest::ask(ServedModel& model, AdmissionPoint::Hold hold, Request& request,
                            uint64_t priority) noexcept {
  auto* admitted = request.arena().make<AdmittedRequest>(model, hold, priority);
  admitted->tickets_ = request.arena().make_array<AdmissionTicket>(hold.services.size());
  Result<bool> all = admitted->ask_the_rest(request);
  if (!all.ok()) {
    model.report_not_admitted(request, all.status());
    End{*admitted}();
    return std::move(all).status();
  }
  if (!all.value()) return {};
  admitted->interpose(request);
  Status status = model.hand_over(request, request.times.start_ns);
  if (!status.ok()) {
    admitted->withdraw(request);
    End{*admitted}();
  }
  return status;
}

Result<bool> AdmittedRequest::ask_the_rest(Request& request) noexcept {
  while (admitted_ < hold_.services.size()) {
    AdmissionTicket ticket;
    Result<AdmissionOutcome> outcome = hold_.services[admitted_]->ask(request, priority_, *this, &ticket);
    if (!outcome.ok()) return std::move(outcome).status();
    if (outcome.value() == AdmissionOutcome::kWaits) return false;
    tickets_[admitted_++] = ticket;
  }
  return true;
}

void AdmittedRequest::resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept {
  Result<bool> all = false;
  if (outcome.ok()) {
    tickets_[admitted_++] = ticket;
    all = ask_the_rest(request);
    if (all.ok() && !all.value()) return;
    outcome = std::move(all).status();
  }
  if (!outcome.ok()) {
    const End end{*this};
    model_->report_not_admitted(request, outcome);
    fail_request(request, std::move(outcome));
    return end();
  }
  interpose(request);
  if (Status status = model_->hand_over(request, 0); !status.ok()) fail_request(request, std::move(status));
}

void AdmittedRequest::send(Response* response, uint32_t flags) noexcept {
  ResponseSink& sink = next();
  // Where another part is still to come, it may do so at once, and this object be gone.
  if ((flags & kFinal) == 0 || !parts_.done(kFinalPart)) return send_to(sink, response, flags);
  const End end{*this};
  send_to(sink, response, flags);
  end();
}

void AdmittedRequest::released(Request& request) noexcept {
  ResponseSink& sink = next();
  if (!parts_.done(kReleasePart)) return release_to(sink, request);
  const End end{*this};
  release_to(sink, request);
  end();
}

}  // namespace atl::models
