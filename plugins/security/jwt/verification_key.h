/// Public keys that signatures of tokens are verified with, and the sets in which they come (RFC 7517, 7518).
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/checked_document.h"

namespace atl::jwt {

/// Only signatures by private keys: a shared secret (HS256) would let whoever verifies a token also make one.
enum class Algorithm : uint32_t { kRs256, kPs256, kEs256, kEdDsa };
inline constexpr std::string_view kAlgorithmNames[] = {"RS256", "PS256", "ES256", "EdDSA"};
/// Nothing: none has this name. Case counts.
std::optional<Algorithm> algorithm_of(std::string_view name) noexcept;

/// Does not change. [any]
class VerificationKey {
 public:
  /// Errors: INVALID_ARGUMENT why the key is not used; the text has no part of the key
  static Result<VerificationKey> parse(const CheckedValue& json);

  /// "kid"; empty: it has none.
  const std::string& id() const noexcept { return id_; }
  /// Whether its type, its curve and, if it says one, its algorithm are those of the algorithm.
  bool fits(Algorithm algorithm) const noexcept;
  /// \param algorithm  that fits
  /// \returns false: this is no signature of the text by this key
  bool verify(Algorithm algorithm, std::string_view text, std::string_view signature) const noexcept;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const noexcept;
  };
  using KeyPointer = std::unique_ptr<EVP_PKEY, Free>;
  static Result<KeyPointer> make_rsa(const CheckedValue& json);
  static Result<KeyPointer> make_p256(const CheckedValue& json);
  static Result<KeyPointer> make_ed25519(const CheckedValue& json);

  std::string id_;
  std::string type_;  ///< "RSA", "EC" (with the curve P-256) or "OKP" (with Ed25519)
  std::optional<Algorithm> only_;
  KeyPointer key_;
};

inline constexpr size_t kKeySetBytesMax = 1 << 20;

/// The keys of a JSON web key set.
struct VerificationKeySet {
  std::vector<VerificationKey> keys;
  std::vector<std::string> unused;  ///< why others are not used, and which have the same 'kid', one text each
};
/// Errors: INVALID_ARGUMENT it is no set, is too large, or has no key that can be used
Result<VerificationKeySet> parse_key_set(std::string_view text);

}  // namespace atl::jwt
