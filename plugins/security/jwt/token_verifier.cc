#include "security/jwt/token_verifier.h"

#include <openssl/evp.h>

#include <algorithm>
#include <utility>

namespace atl::jwt {
namespace {

/// Signatures of these are tried where a token names no key: each costs up to 100 microseconds.
constexpr int kTriedMax = 8;

}  // namespace

bool TokenVerifier::digest_of(std::string_view token, Digest* digest) noexcept {
  // Fetched once, as a fetch takes long beside the digest. Never freed: OpenSSL itself may end before this file.
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  unsigned int size = 0;
  return method != nullptr &&
         EVP_Digest(token.data(), token.size(), digest->data(), &size, method, nullptr) == 1;
}

void TokenVerifier::set_keys(std::vector<VerificationKey> keys) {
  auto next = std::make_shared<Keys>();
  next->all = std::move(keys);
  next->hold = std::make_shared<std::atomic<bool>>(true);
  std::lock_guard lock(mutex_);
  if (keys_ != nullptr) keys_->hold->store(false, std::memory_order_release);
  keys_ = std::move(next);
  by_digest_.clear();
  by_age_.clear();
}

std::shared_ptr<const TokenVerifier::Keys> TokenVerifier::keys() const {
  std::lock_guard lock(mutex_);
  return keys_;
}

bool TokenVerifier::has_keys() const { return keys() != nullptr; }

bool TokenVerifier::is_mine(std::string_view token) const {
  Result<SignedToken> parsed = parse_token(token);
  if (!parsed.ok()) return false;
  const auto& issuers = settings_.claims.issuers;
  return std::find(issuers.begin(), issuers.end(), claimed_issuer(parsed->claims)) != issuers.end();
}

std::shared_ptr<const VerifiedToken> TokenVerifier::remembered(const Digest& digest) {
  std::lock_guard lock(mutex_);
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return nullptr;
  by_age_.splice(by_age_.begin(), by_age_, found->second.age);
  return found->second.token;
}

void TokenVerifier::remember(const Digest& digest, const std::shared_ptr<const VerifiedToken>& token) {
  std::lock_guard lock(mutex_);
  // The keys may have been exchanged while it was verified, and another thread may have been quicker.
  if (keys_ == nullptr || keys_->hold != token->keys_hold || settings_.remembered_max == 0 ||
      by_digest_.contains(digest))
    return;
  if (by_digest_.size() >= settings_.remembered_max) {
    by_digest_.erase(by_age_.back());
    by_age_.pop_back();
  }
  by_age_.push_front(digest);
  by_digest_.emplace(digest, Remembered{token, by_age_.begin()});
}

bool TokenVerifier::is_signed(const SignedToken& token, const Keys& keys) {
  int tried = 0;
  for (const VerificationKey& key : keys.all) {
    if (!key.fits(token.algorithm) || (!token.key_id.empty() && key.id() != token.key_id)) continue;
    if (++tried > kTriedMax) return false;
    if (key.verify(token.algorithm, token.text, token.signature)) return true;
  }
  return false;
}

Result<std::shared_ptr<const VerifiedToken>> TokenVerifier::verify(std::string_view token) {
  if (token.size() > kTokenBytesMax) return invalid_argument("it is larger than ", kTokenBytesMax, " bytes");
  Digest digest;
  if (!digest_of(token, &digest)) return internal_error("no SHA-256 in OpenSSL");
  // The keys may have been exchanged just now: then it is verified with the new ones.
  if (auto known = remembered(digest);
      known != nullptr && known->keys_hold->load(std::memory_order_acquire)) {
    if (now_s() >= known->claims.expires_s) return invalid_argument("it has expired");
    return known;
  }
  const std::shared_ptr<const Keys> keys = this->keys();
  if (keys == nullptr) return unavailable("there are no keys yet");
  Result<SignedToken> parsed = parse_token(token);
  if (!parsed.ok()) return std::move(parsed).status();
  const auto& algorithms = settings_.algorithms;
  if (std::find(algorithms.begin(), algorithms.end(), parsed->algorithm) == algorithms.end())
    return invalid_argument("its algorithm is not among 'algorithms'");
  if (!is_signed(*parsed, *keys)) return invalid_argument("no key has signed it");
  Result<TokenClaims> claims = read_claims(parsed->claims, settings_.claims, now_s());
  if (!claims.ok()) return std::move(claims).status();
  auto verified = std::make_shared<const VerifiedToken>(VerifiedToken{std::move(claims).value(), keys->hold});
  remember(digest, verified);
  return verified;
}

}  // namespace atl::jwt
