/// What clients of the HTTP calls get.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pools/leases/book/pool_manager.h"

namespace atl::pools {

// What is the caller's alone is shown for an owner; empty: nobody, as callers are not known.

/// {definition, state, instances: [{name, state, used, free, backends, leases, address}]}, with the owner's leases
std::string pool_json(const Pool& pool, std::string_view owner);
/// {"pools": [...]}, by name
std::string pools_json(const PoolBook& book, std::string_view owner);

/// {id, name, pool, state, quota, instance, address, created_at, expires_at, models: [{name, state, reason}]}, and
/// reason of one that failed; use: {requests, compute_seconds, queue_seconds, busy} of one that was looked at.
std::string lease_json(const PoolBook& book, const Lease& lease);
/// {"leases": [...]}, in their order
std::string leases_json(const PoolBook& book, const std::vector<const Lease*>& leases);

/// {instance or null, starts_instance, reason, instances: [{name, used, free, backends, reason}]}
std::string plan_json(const PoolBook& book, const LeasePlan& plan);

/// {"names": [{name, lease}]}, the owner's by name
std::string names_json(const PoolBook& book, std::string_view owner);
std::string name_json(std::string_view name, std::string_view lease);
/// {"name": "..."}
std::string one_text_json(std::string_view name, std::string_view text);
/// {"error": "..."}
std::string error_json(std::string_view text);

}  // namespace atl::pools
