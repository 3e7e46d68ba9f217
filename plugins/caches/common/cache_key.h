/// The key of a request in a cache of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "atoll/request/request.h"

namespace atl::caches {

/// A hash of 128 bits over the model's load and the request's KeyParts; and what it costs nothing to compare beside it.
struct CacheKey {
  uint64_t low = 0, high = 0;
  uint64_t input_bytes = 0;
  uint32_t inputs = 0, outputs = 0;

  bool operator==(const CacheKey&) const noexcept = default;
};

struct CacheKeyHash {
  size_t operator()(const CacheKey& key) const noexcept { return static_cast<size_t>(key.low); }
};

/// Costs about a tenth of a nanosecond a byte.
/// \param load  stands for the model: equal only where answers are; ModelInfo::load_id
/// \param seed  clients do not know it, so they cannot make two requests of one key
/// \returns nothing if the inputs are not steady
std::optional<CacheKey> key_of(const Request& request, uint64_t load, uint64_t seed) noexcept;

}  // namespace atl::caches
