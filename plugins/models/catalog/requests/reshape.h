/// Configured reshapes: the client's shape of a tensor is `dims`, the backend's is `reshape`.
#pragma once

#include <cstdint>
#include <span>

#include "atoll/models/model.h"
#include "atoll/request/arena.h"

namespace atl::models {

/// Replaces the part of a shape that matches `from` by `to`; each -1 of `to` takes, in order, the value at a
/// -1 of `from`. \param batched  the first dimension is the batch and stays
/// \returns a shape in the arena; the same shape if its rank is not that of `from`, which is for others to
/// refuse
std::span<const int64_t> reshaped(std::span<const int64_t> shape, std::span<const int64_t> from,
                                  std::span<const int64_t> to, bool batched, Arena& arena) noexcept;

/// Puts a sink in front of the request's that gives outputs their configured shape. Lives in the request's
/// arena and takes itself out when the request is released.
void interpose_output_reshape(Request& request, const ModelInfo& info) noexcept;

/// Undoes it, for a request that was refused.
void remove_output_reshape(Request& request) noexcept;

}  // namespace atl::models
