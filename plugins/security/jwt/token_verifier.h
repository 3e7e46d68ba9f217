/// Who has sent a token: signatures, claims, and a memory of what was verified.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "security/jwt/signed_token.h"
#include "security/jwt/token_claims.h"

namespace atl::jwt {

struct VerifierSettings {
  ClaimSettings claims;
  std::vector<Algorithm> algorithms;
  size_t remembered_max = 10'000;  ///< tokens
};

/// A verified token. Does not change but for that it stops to hold. [any]
struct VerifiedToken {
  TokenClaims claims;
  std::shared_ptr<const std::atomic<bool>> keys_hold;  ///< false: the keys were exchanged since

  bool holds(int64_t now_s) const noexcept {
    return keys_hold->load(std::memory_order_acquire) && now_s < claims.expires_s;
  }
};

/// Thread safe. Verifying takes 20 to 100 microseconds; a token that was verified before takes one.
class TokenVerifier {
 public:
  TokenVerifier(VerifierSettings settings, Clock& clock) : settings_(std::move(settings)), clock_(clock) {}

  /// Exchanges the keys. What was verified with the old ones holds no more. [control]
  void set_keys(std::vector<VerificationKey> keys);
  bool has_keys() const;
  /// Whether this is a token that only these settings' issuers could have made: others may know it, if not.
  bool is_mine(std::string_view token) const;
  /// Errors: INVALID_ARGUMENT why it does not count. Never shown to clients: it would help who guesses.
  Result<std::shared_ptr<const VerifiedToken>> verify(std::string_view token);

  int64_t now_s() const noexcept { return clock_.wall_ns() / kNsPerSecond; }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Remembered {
    std::shared_ptr<const VerifiedToken> token;
    std::list<Digest>::iterator age;
  };
  struct Keys {
    std::vector<VerificationKey> all;
    std::shared_ptr<std::atomic<bool>> hold;
  };

  static bool digest_of(std::string_view token, Digest* digest) noexcept;
  std::shared_ptr<const Keys> keys() const;
  std::shared_ptr<const VerifiedToken> remembered(const Digest& digest);
  void remember(const Digest& digest, const std::shared_ptr<const VerifiedToken>& token);
  static bool is_signed(const SignedToken& token, const Keys& keys);

  const VerifierSettings settings_;
  Clock& clock_;
  mutable std::mutex mutex_;  // guards everything below
  std::shared_ptr<const Keys> keys_;
  std::map<Digest, Remembered> by_digest_;
  std::list<Digest> by_age_;  ///< the latest used first
};

}  // namespace atl::jwt
