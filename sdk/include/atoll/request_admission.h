/// Whether a client's request may go to its scheduler now: quotas and overload protection. Service
/// "atoll.request_admission/1".
///
/// The model catalog asks once for every valid request, before it goes to its scheduler, and tells once when
/// an admitted one has ended. Requests with kIsStep are not asked for: the request they are steps of
/// was. Without a provider, or with an inactive one, a request costs one load and one branch.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/request.h"
#include "atoll/status.h"

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

  /// May this request go on? Reads its tenant, deadline, timeout and sequence. [request]
  /// \param priority  the level that counts for its model, 1 being the highest; 0: neither says one
  /// \param waiter    lives as long as the request
  /// \param ticket    set when the outcome is kAdmitted; ended() is owed
  /// \returns kAdmitted, or kWaits: the request belongs to the provider until resume(), which may be called
  /// before this returns. Until then the provider listens to the request's cancellation and may use `next`,
  /// `scheduler_data` and the arena.
  /// Errors, with request.retry_after_ms set where trying again makes sense; the request stays with the
  /// caller: RESOURCE_EXHAUSTED the tenant is over a quota; UNAVAILABLE the server is overloaded;
  /// DEADLINE_EXCEEDED; CANCELLED.
  virtual Result<AdmissionOutcome> ask(Request& request, uint64_t priority, AdmissionWaiter& waiter,
                                       AdmissionTicket* ticket) noexcept = 0;

  /// An admitted request is answered and released. Once; the request itself may be gone. [any]
  virtual void ended(const AdmissionTicket& ticket) noexcept = 0;

 protected:
  ~RequestAdmission() = default;
};

}  // namespace atl
