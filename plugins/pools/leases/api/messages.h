/// What clients of the gRPC calls send and get.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pools.pb.h"
#include "pools/leases/book/pool_manager.h"

namespace atl::pools {

namespace v1 = ::pools::v1;

// --- what they send; whether it makes sense is check()'s (definitions.h) ---

PoolDefinition definition_of(const v1::PoolDefinition& message);
/// Errors: INVALID_ARGUMENT a duration that none is.
Result<LeaseDefinition> definition_of(const v1::LeaseDefinition& message);
/// Likewise. \param field  "duration"
Result<int64_t> duration_of(std::string_view field, const google::protobuf::Duration& message);

// --- what they get; texts that are no UTF-8 are made so ---

/// \param owner  whose leases are shown; empty: nobody's, as callers are not known
void write(const Pool& pool, std::string_view owner, v1::Pool* message);
void write(const PoolBook& book, const Lease& lease, v1::Lease* message);
void write(const PoolBook& book, const LeasePlan& plan, v1::LeasePlan* message);

}  // namespace atl::pools
