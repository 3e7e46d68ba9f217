/// Shapes of tensors that go from a model that batches to one that does not, or the other way.
#pragma once

#include <cstdint>
#include <span>

#include "atoll/request/arena.h"

namespace atl::ensemble {

/// The shape of a value where it is read. Nothing is done where both sides batch, or neither. What is batched is
/// read by who does not batch as it is, if that fits, else without its batch dimension of 1; the other way, a
/// dimension of 1 is put before it if it fits as it is, and else it is taken to have one.
/// \param dims   that the reader's configuration has, without the batch dimension; -1: any
/// \param arena  for what has to be made
std::span<const int64_t> shape_for(std::span<const int64_t> shape, bool batched, bool reader_batches,
                                   std::span<const int64_t> dims, Arena& arena) noexcept;

}  // namespace atl::ensemble
