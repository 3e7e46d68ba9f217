#include "models/catalog/requests/admitted_request.h"

#include <algorithm>
#include <utility>

namespace atl::models {

AdmittedRequest::End::End(const AdmittedRequest& request) noexcept
    : hold_(request.hold_), count_(request.admitted_) {
  std::copy_n(request.tickets_, count_, tickets_.begin());
}

void AdmittedRequest::End::operator()() const noexcept {
  for (size_t i = count_; i-- > 0;) hold_.services[i]->ended(tickets_[i]);
  hold_.gate->leave();
}

AdmittedRequest& AdmittedRequest::make(Request& request, AdmissionPoint::Hold hold, uint64_t priority,
                                       AfterAdmission& next) noexcept {
  auto* admitted = request.arena().make<AdmittedRequest>(hold, priority, next);
  admitted->tickets_ = request.arena().make_array<AdmissionTicket>(hold.services.size());
  return *admitted;
}

Result<bool> AdmittedRequest::ask(Request& request) noexcept {
  while (admitted_ < hold_.services.size()) {
    AdmissionTicket ticket;
    Result<AdmissionOutcome> outcome = hold_.services[admitted_]->ask(request, priority_, *this, &ticket);
    if (!outcome.ok()) return std::move(outcome).status();
    if (outcome.value() == AdmissionOutcome::kWaits) return false;
    tickets_[admitted_++] = ticket;
  }
  begin(request);
  return true;
}

/// All have admitted it.
void AdmittedRequest::begin(Request& request) noexcept {
  for (size_t i = 0; i < admitted_; ++i) {
    if (hold_.minors[i] >= RequestAdmission::kTokensMinor && hold_.services[i]->counts_tokens())
      counting_ |= 1U << i;
  }
  if (counting_ != 0) request.call_flags |= kCountsTokens;
  interpose(request);
}

void AdmittedRequest::count(Response& response) noexcept {
  const TokenUse use = tokens_.take(response);
  if (use.prompt == 0 && use.generated == 0) return;
  for (size_t i = 0; i < admitted_; ++i) {
    if ((counting_ & (1U << i)) != 0) hold_.services[i]->used(tickets_[i], use);
  }
}

void AdmittedRequest::resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept {
  if (outcome.ok()) {
    tickets_[admitted_++] = ticket;
    Result<bool> all = ask(request);
    if (all.ok()) {
      if (all.value()) next_step_->on_admitted(request);
      return;
    }
    outcome = std::move(all).status();
  }
  const End end{*this};
  next_step_->on_refused(request, std::move(outcome));
  end();
}

void AdmittedRequest::send(Response* response, uint32_t flags) noexcept {
  ResponseSink& sink = next();
  if (counting_ != 0 && response != nullptr) count(*response);
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
