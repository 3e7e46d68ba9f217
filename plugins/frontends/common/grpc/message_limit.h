/// How large a gRPC message can be.
#pragma once

#include <cstdint>
#include <limits>

namespace atl::frontends {

/// gRPC's own limit.
inline constexpr uint64_t kMaxGrpcMessageBytes = std::numeric_limits<int32_t>::max();

}  // namespace atl::frontends
