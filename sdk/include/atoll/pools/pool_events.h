/// The event of pools and leases; how to get it is in core/event_bus.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/core/text.h"

namespace atl {

/// Something has happened to a pool, to one of its instances, or to a lease. Not retained: what is now is told by the calls of the
/// pools. Texts that do not fit are cut.
struct PoolChanged {
  static constexpr std::string_view kEventId = "atoll.pool_changed/1";
  enum class Kind : uint32_t {
    kPoolCreated,
    kPoolDeleted,
    kInstanceStarting,
    kInstanceReady,
    kInstanceFailed,
    kInstanceStopped,
    kLeaseRefused,
    kLeasePending,
    kLeaseDeploying,
    kLeaseActive,
    kLeaseRenewed,
    kLeaseReleased,
    kLeaseExpired,
    kLeaseFailed,
    kLeaseOveruse  ///< it takes far more than its quota is for; nothing is done about it
  };
  static constexpr int64_t kNoInstance = -1;

  Kind kind = Kind::kPoolCreated;
  Code code = Code::kOk;  ///< of refusals and failures
  FixedText<256> pool;
  FixedText<64> lease;             ///< id; empty: of no lease, or of one that was refused
  int64_t instance = kNoInstance;  ///< number in the pool
  uint64_t quota = 0;              ///< of the lease; of a pool's event that of its instances
  FixedText<1024> reason;  ///< of refusals and failures; of a renewal "client" or "use"; "moved" of a lease
                           ///< that has lost its instance and is pending again
  std::string_view key() const noexcept { return lease.view().empty() ? pool.view() : lease.view(); }
};

/// "pool.instance.ready"
constexpr std::string_view pool_event_name(PoolChanged::Kind kind) noexcept {
  constexpr std::string_view kNames[] = {
      "pool.created",         "pool.deleted",          "pool.instance.starting", "pool.instance.ready",
      "pool.instance.failed", "pool.instance.stopped", "lease.refused",          "lease.pending",
      "lease.deploying",      "lease.active",          "lease.renewed",          "lease.released",
      "lease.expired",        "lease.failed",          "lease.overuse"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace atl
