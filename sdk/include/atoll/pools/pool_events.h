/// The event of pools and leases, published by pools/leases. How to get it, with an example, is in
/// core/event_bus.h.
///
///     struct OnPool {
///       void operator()(const PoolChanged& event) const {
///         log.info(pool_event_name(event.kind), " ", event.pool.view(), " ", event.reason.view());
///       }
///       Log& log;
///     };
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/core/text.h"

namespace atl {

/// Something has happened to a pool, to one of its instances, or to a lease. This is news and no
/// state, so the event is not retained; the calls of the pools' API say what is true now. Texts
/// that do not fit are cut and end in "...".
struct PoolChanged {
  static constexpr std::string_view kEventId = "atoll.pool_changed/1";
  /// What has happened. pool_event_name() gives the names.
  enum class Kind : uint32_t {
    /// A client has created the pool.
    kPoolCreated,
    /// The pool is gone, and so are its instances.
    kPoolDeleted,
    /// A server is launched, or looked for after a restart.
    kInstanceStarting,
    /// The server answers that it is ready: leases are deployed there now.
    kInstanceReady,
    /// The server did not get ready in time, stopped answering, or ended by itself; `reason` says
    /// which.
    kInstanceFailed,
    /// The server has ended because the pool wanted it to.
    kInstanceStopped,
    /// A client's lease got no place; `code` and `reason` are what the client was answered.
    kLeaseRefused,
    /// The lease has a place, or waits for another one after it has lost its instance.
    kLeasePending,
    /// The lease's models are being loaded.
    kLeaseDeploying,
    /// The lease's models serve.
    kLeaseActive,
    /// The lease lasts longer than before; `reason` says by what.
    kLeaseRenewed,
    /// A client has given the lease back.
    kLeaseReleased,
    /// The lease's time is over.
    kLeaseExpired,
    /// The lease has ended by a failure; `code` and `reason` say which.
    kLeaseFailed,
    /// The lease's models compute far more than its quota is for. Nothing is done about it.
    kLeaseOveruse
  };
  /// The event is about no instance.
  static constexpr int64_t kNoInstance = -1;

  Kind kind = Kind::kPoolCreated;
  /// Of refusals and failures.
  Code code = Code::kOk;
  /// The pool's name.
  FixedText<256> pool;
  /// The lease's id; empty if the event is about no lease, or about one that was refused.
  FixedText<64> lease;
  /// The instance's number in the pool.
  int64_t instance = kNoInstance;
  /// The quota of the lease; in a pool's event, that of each of its instances.
  uint64_t quota = 0;
  /// Of refusals and failures, the message. Of a renewal, "client" (by a call) or "use" (by itself,
  /// because it is used). Of kLeasePending, "moved" if the lease has lost its instance.
  FixedText<1024> reason;
  /// The lease's id, or the pool's name where there is none.
  std::string_view key() const noexcept { return lease.view().empty() ? pool.view() : lease.view(); }
};

/// The name of a kind, for logs: "pool.instance.ready". [any]
constexpr std::string_view pool_event_name(PoolChanged::Kind kind) noexcept {
  constexpr std::string_view kNames[] = {
      "pool.created",         "pool.deleted",          "pool.instance.starting", "pool.instance.ready",
      "pool.instance.failed", "pool.instance.stopped", "lease.refused",          "lease.pending",
      "lease.deploying",      "lease.active",          "lease.renewed",          "lease.released",
      "lease.expired",        "lease.failed",          "lease.overuse"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace atl
