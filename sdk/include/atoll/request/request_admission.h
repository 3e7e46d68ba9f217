/// Whether a client's request may go to its scheduler now: quotas, overload protection, deny lists. Service
/// "atoll.request_admission/1".
///
/// The model catalog asks every active provider, the one of the highest rank first, the first by instance
/// name of equal ones, once for every valid request before it goes to its scheduler; the next is asked when
/// the one before has admitted it, which may have made it wait. The first that refuses ends it. Each that
/// admitted a request is told once when that has ended, be it that a later one refused it. A provider that
/// comes is asked for requests that come after it; one that goes is still asked for those that came before,
/// and the server waits for their ends. Requests with kIsStep are not asked for: the request they are steps
/// of was. Without a provider, or with inactive ones only, a request costs one load and one branch.
///
/// What a provider sees of a request is all of it: model, inputs, tenant, and parameters. The headers that
/// the frontends are told to forward (their option `header_forward_pattern`) are string parameters there,
/// under the header's name. Clients can write parameters of any name into their requests, so what a proxy in
/// front vouches for is a header that it replaces and a name that it lets no client use, or the tenant.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"

namespace atl {

/// What a provider wants to know again when an admitted request ends; only the provider reads it.
struct AdmissionTicket {
  uint64_t data[3] = {};
};

enum class AdmissionOutcome : uint32_t { kAdmitted = 0, kWaits = 1 };

/// Who has asked for one request.
class AdmissionWaiter {
 public:
  /// The wait is over: once for each request that waits, on a thread of the provider's, with no lock held.
  /// OK: it is admitted, and ended() is owed. A failure is the request's answer. Resumed requests of one
  /// tenant and priority come one after the other, in the order in which they were asked for.
  virtual void resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept = 0;

 protected:
  ~AdmissionWaiter() = default;
};

class RequestAdmission {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.request_admission/1";

  /// False: nothing is limited, and nobody need ask. Never changes while the service is held. [any]
  virtual bool active() const noexcept = 0;

  /// May this request go on? [request], or on the thread of a provider before this one that resumes it.
  /// \param priority  the level that counts for its model, 1 being the highest; 0: neither says one
  /// \param waiter    lives as long as the request
  /// \param ticket    set when the outcome is kAdmitted; ended() is owed
  /// \returns kAdmitted, or kWaits: the request belongs to the provider until resume(), which may be called
  /// before this returns. Until then the provider listens to the request's cancellation and may use `next`,
  /// `links`, which are empty again afterwards, and the arena.
  /// Errors, with request.retry_after_ms set where trying again makes sense; the request stays with the
  /// caller: PERMISSION_DENIED it may not at all; RESOURCE_EXHAUSTED the tenant is over a quota; UNAVAILABLE
  /// the server is overloaded; DEADLINE_EXCEEDED; CANCELLED.
  virtual Result<AdmissionOutcome> ask(Request& request, uint64_t priority, AdmissionWaiter& waiter,
                                       AdmissionTicket* ticket) noexcept = 0;

  /// An admitted request is answered and released, or was refused by a later provider and stays with its
  /// maker. Once; the request itself may be gone. [any]
  virtual void ended(const AdmissionTicket& ticket) noexcept = 0;

 protected:
  ~RequestAdmission() = default;
};

}  // namespace atl
