/// How large a gRPC message can be.
#pragma once

#include <cstdint>
#include <limits>

namespace atl::frontends {

/// gRPC's own limit.
inline constexpr uint64_t kMaxGrpcMessageBytes = std::numeric_limits<int32_t>::max();

/// Answers without tensors count as memory of requests while they wait, but not small ones: health is told also when
/// none is left.
inline constexpr uint64_t kUncountedAnswerBytes = 1024;

}  // namespace atl::frontends
