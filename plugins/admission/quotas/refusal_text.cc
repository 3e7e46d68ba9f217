#include "admission/quotas/refusal_text.h"

#include <string>
#include <utility>

namespace atl::quotas {
namespace {

std::string whole_seconds_or_ms(int64_t ns) {
  if (ns % kNsPerSecond == 0) return cat(ns / kNsPerSecond, " s");
  return cat(ns / kNsPerMs, " ms");
}

std::string reason_text(const Waiter& waiter, const AdmissionSettings& settings) {
  const Quota& quota = *waiter.quota;
  switch (waiter.refusal) {
    case Refusal::kRate:
      return cat("tenant '", waiter.tenant_name, "' is over its rate of ", quota.rate, " requests a second");
    case Refusal::kTokens:
      return cat("tenant '", waiter.tenant_name, "' has used more than its ", quota.tokens * 60,
                 " tokens a minute");
    case Refusal::kConcurrency:
      return cat("tenant '", waiter.tenant_name, "' has ", quota.queue, " requests waiting",
                 waiter.at_own_limit ? cat(" and ", quota.concurrency, " running") : "",
                 ", as many as it may");
    case Refusal::kWait:
      return cat("no turn came for tenant '", waiter.tenant_name, "' in ",
                 whole_seconds_or_ms(settings.max_wait_ns));
    case Refusal::kInFlight:
      return cat("the server is overloaded: it has ", settings.in_flight_limit,
                 " requests in flight, or nearly, and others come first");
    case Refusal::kQueueDelay:
      return cat("the server is overloaded: requests wait longer than ",
                 whole_seconds_or_ms(settings.queue_delay_ns), " for their turn, and others come first");
    default:
      return "its deadline came before its turn";
  }
}

Code code_of(const Waiter& waiter) {
  switch (waiter.refusal) {
    case Refusal::kRate:
    case Refusal::kTokens:
    case Refusal::kConcurrency:
      return Code::kResourceExhausted;
    case Refusal::kWait:
      return waiter.at_own_limit ? Code::kResourceExhausted : Code::kUnavailable;
    case Refusal::kDeadline:
      return Code::kDeadlineExceeded;
    case Refusal::kCancelled:
      return Code::kCancelled;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace

Status refusal_status(const Waiter& waiter, const AdmissionSettings& settings) {
  const Code code = code_of(waiter);
  if (code == Code::kCancelled) return Status(code, {});  // as schedulers do
  const std::string_view id = waiter.request->id;
  std::string text = cat("[request id: ", id.empty() ? std::string_view("<id_unknown>") : id, "] ",
                         reason_text(waiter, settings));
  if (waiter.retry_after_ms != 0) text += cat("; try again in ", waiter.retry_after_ms, " ms");
  return Status(code, std::move(text));
}

}  // namespace atl::quotas
