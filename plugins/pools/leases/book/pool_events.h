/// What happens to pools and leases, for those who count it, log it or tell others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/pools/pool_events.h"

namespace atl::pools {

class Lease;
class Pool;
class PoolInstance;

struct PoolEvent {
  using Kind = PoolChanged::Kind;
  Kind kind = Kind::kPoolCreated;
  std::string_view pool;
  std::string_view lease;            ///< id; empty: of no lease, or of one that was refused
  std::optional<uint32_t> instance;  ///< number
  uint64_t quota = 0;                ///< of the lease; of a pool's event that of its instances
  std::string_view reason;  ///< of refusals and failures; of a renewal "client" or "use"; "moved" of a lease
                            ///< that has lost its instance and is pending again
  Code code = Code::kOk;    ///< of refusals and failures
  int64_t deploy_ns = 0;    ///< of kLeaseActive: since kLeasePending
};

/// An event of a lease, whose texts it borrows.
PoolEvent event_of(PoolEvent::Kind kind, const Lease& lease, std::string_view reason = {},
                   Code code = Code::kOk);
/// Likewise of a pool. \param instance  null: of the pool itself
PoolEvent event_of(PoolEvent::Kind kind, const Pool& pool, const PoolInstance* instance = nullptr,
                   std::string_view reason = {});

/// Texts are borrowed for the call.
class PoolEvents {
 public:
  virtual void happened(const PoolEvent& event) = 0;

 protected:
  ~PoolEvents() = default;
};

}  // namespace atl::pools
