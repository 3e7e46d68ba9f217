/// What makes two requests equal to a response cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "atoll/request.h"

namespace atl::caches {

/// A hash of 128 bits over the model's load, each input's name, type, shape and bytes, the outputs that are asked for
/// and the parameters that matter to the model, every one with its length; and what it costs nothing to compare
/// beside it.
struct CacheKey {
  uint64_t low = 0, high = 0;
  uint64_t input_bytes = 0;
  uint32_t inputs = 0, outputs = 0;

  bool operator==(const CacheKey&) const noexcept = default;
};

struct CacheKeyHash {
  size_t operator()(const CacheKey& key) const noexcept { return static_cast<size_t>(key.low); }
};

/// The order in which inputs and outputs were sent, and how an input's bytes are cut into buffers, do not matter;
/// what is made of the outputs for the client (their place, classification) does not either. Costs about a
/// tenth of a nanosecond a byte.
/// \param load  stands for the model: equal only where answers are; ModelInfo::load_id within a process
/// \param seed  clients do not know it, so they can not make two requests of one key
/// \returns nothing if an input is not there for the CPU, or its client may change it while the answer is computed,
/// which would then be kept for others under what was asked before
std::optional<CacheKey> key_of(const Request& request, uint64_t load, uint64_t seed) noexcept;

}  // namespace atl::caches
