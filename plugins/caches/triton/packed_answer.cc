#include "caches/triton/packed_answer.h"

#include <cstring>

#include "atoll/models/model.h"

// Its functions here, and not those of a library that a plugin might bring too.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace atl::caches {
namespace {

/// The same on every machine. Against accidents: whoever can write to the cache can compute it.
XXH128_canonical_t seal_of(std::string_view message, std::string_view key) noexcept {
  XXH128_canonical_t seal;
  const XXH64_hash_t seed = XXH3_64bits(key.data(), key.size());
  XXH128_canonicalFromHash(&seal, XXH3_128bits_withSeed(message.data(), message.size(), seed));
  return seal;
}

}  // namespace

std::optional<std::string> pack_answer(const Response& response, const ModelInfo& model, std::string_view key,
                                       uint64_t bytes_max) {
  std::optional<std::string> bytes = write_answer(response, model, bytes_max);
  if (!bytes) return bytes;
  const XXH128_canonical_t seal = seal_of(*bytes, key);
  bytes->append(reinterpret_cast<const char*>(&seal), sizeof seal);
  return bytes;
}

Result<ReadAnswer> unpack_answer(std::string_view bytes, const Request& request, std::string_view key) {
  if (bytes.size() < sizeof(XXH128_canonical_t)) return invalid_argument("it has ", bytes.size(), " bytes");
  const std::string_view message = bytes.substr(0, bytes.size() - sizeof(XXH128_canonical_t));
  const XXH128_canonical_t seal = seal_of(message, key);
  if (std::memcmp(bytes.data() + message.size(), &seal, sizeof seal) != 0) {
    return invalid_argument("it is not what was kept under this key");
  }
  return ReadAnswer::read(message, request.model->info(), request);
}

}  // namespace atl::caches
