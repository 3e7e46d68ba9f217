/// What clients of the HTTP calls send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "pools/leases/book/definitions.h"

namespace atl::pools {

struct PoolUpdate {
  std::optional<uint32_t> min_instances, max_instances;  ///< nothing: as it is
};

// Durations are texts with a unit ("90s") or numbers of seconds, sizes texts with a unit ("4GiB") or numbers of bytes.
// A field that is not known is refused, so that one with a slip is not taken for one left out. Whether the values make
// sense is check()'s (definitions.h). Errors of all: INVALID_ARGUMENT, naming the field or the place in the text.

/// {name, min_instances, max_instances, quota, enforce_backends, instance: {runtime, cpus, gpus, memory}}
Result<PoolDefinition> read_pool(std::string_view json);
/// {min_instances, max_instances}, one of them at least
Result<PoolUpdate> read_pool_update(std::string_view json);
/// {pool, quota, duration, models: [{name, source}], auto_renew: true or {duration, window}, idempotency_key}
Result<LeaseDefinition> read_lease(std::string_view json);
/// {duration}, or nothing at all. \returns nothing: the lease's own
Result<std::optional<int64_t>> read_renewal(std::string_view json);

/// {lease} with an id. \returns it
Result<std::string> read_lease_name(std::string_view json);

}  // namespace atl::pools
