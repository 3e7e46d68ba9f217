// Any bytes as a token, as its head and claims in front of a signature that nobody checks, and as a set of keys. The first byte
// chooses. No token may be taken, as the fuzzer has no private key.
#include <cstdlib>
#include <string>

#include "atoll/testing/fake_clock.h"
#include "fuzz_target.h"
#include "security/jwt/base64url.h"
#include "security/jwt/testing/token_maker.h"
#include "security/jwt/token_verifier.h"

namespace {

using namespace atl::jwt;  // NOLINT

ClaimSettings claim_settings() {
  ClaimSettings settings;
  settings.issuers = {"i"};
  settings.audiences = {"a"};
  settings.granting = {{"scope", "s"}, {"groups", "g"}};
  return settings;
}

TokenVerifier& verifier() {
  static atl::test::FakeClock clock;
  static TokenVerifier* const made = [] {
    static const TokenSigner rsa(TokenSigner::Kind::kRsa), p256(TokenSigner::Kind::kP256),
        ed(TokenSigner::Kind::kEd25519);
    auto* const all = new TokenVerifier(
        {claim_settings(), {Algorithm::kRs256, Algorithm::kPs256, Algorithm::kEs256, Algorithm::kEdDsa}, 10},
        clock);
    all->set_keys(std::move(parse_key_set(key_set({rsa.jwk(), p256.jwk(), ed.jwk()}))->keys));
    return all;
  }();
  return *made;
}

void check(std::string_view token) {
  (void)verifier().is_mine(token);
  if (verifier().verify(token).ok()) std::abort();
}

void read(unsigned kind, std::string_view rest) {
  switch (kind) {
    case 0:
      return check(rest);
    case 1: {
      const size_t cut = rest.size() / 2;
      return check(encode_base64url(rest.substr(0, cut)) + "." + encode_base64url(rest.substr(cut)) +
                   ".AAAA");
    }
    case 2: {
      auto claims = read_claims(rest, claim_settings(), 0);
      if (claims.ok() && (claims->name.empty() || claims->expires_s <= 0)) std::abort();
      return;
    }
    case 3: {
      auto set = parse_key_set(rest);
      if (set.ok() && set->keys.empty()) std::abort();
      return;
    }
    default: {
      const auto bytes = decode_base64url(rest);
      if (bytes && encode_base64url(*bytes) != rest) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size != 0) read(data[0] % 5, {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
