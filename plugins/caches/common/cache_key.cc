#include "caches/common/cache_key.h"

#include "caches/common/key_parts.h"

// Its functions here, and not those of a library that a plugin might bring too.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace atl::caches {
namespace {

class Hash {
 public:
  explicit Hash(uint64_t seed) noexcept { XXH3_128bits_reset_withSeed(&state_, seed); }
  void add(const void* data, size_t bytes) noexcept {
    if (bytes != 0) (void)XXH3_128bits_update(&state_, data, bytes);
  }
  XXH128_hash_t value() const noexcept { return XXH3_128bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace

std::optional<CacheKey> key_of(const Request& request, uint64_t load, uint64_t seed) noexcept {
  if (!has_steady_inputs(request)) return std::nullopt;
  CacheKey key;
  key.inputs = request.inputs.size();
  key.outputs = request.outputs.size();
  for (const InputTensor& input : request.inputs) key.input_bytes += input.size_bytes;
  Hash hash(seed);
  KeyParts parts(request, hash);
  parts.add(load);
  parts.add_all();
  const XXH128_hash_t value = hash.value();
  key.low = value.low64;
  key.high = value.high64;
  return key;
}

}  // namespace atl::caches
