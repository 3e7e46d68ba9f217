#include "pools/leases/book/pool_events.h"

#include "pools/leases/book/pool.h"

namespace atl::pools {

PoolEvent event_of(PoolEvent::Kind kind, const Lease& lease, std::string_view reason, Code code) {
  PoolEvent event;
  event.kind = kind;
  event.pool = lease.record.definition.pool;
  event.lease = lease.id();
  if (kind != PoolEvent::Kind::kLeaseRefused)
    event.instance = lease.record.instance;  // that one has no place
  event.quota = lease.record.definition.quota;
  event.reason = reason;
  event.code = code;
  return event;
}

PoolEvent event_of(PoolEvent::Kind kind, const Pool& pool, const PoolInstance* instance,
                   std::string_view reason) {
  PoolEvent event;
  event.kind = kind;
  event.pool = pool.name();
  if (instance != nullptr) event.instance = instance->number();
  event.quota = pool.record().definition.quota;
  event.reason = reason;
  return event;
}

}  // namespace atl::pools
