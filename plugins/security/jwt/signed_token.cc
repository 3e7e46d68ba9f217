#include "security/jwt/signed_token.h"

#include <algorithm>
#include <utility>

#include "security/jwt/base64url.h"
#include "security/jwt/json_object.h"

namespace atl::jwt {

bool looks_like_token(std::string_view token) noexcept {
  return std::count(token.begin(), token.end(), '.') == 2;
}

Result<SignedToken> parse_token(std::string_view token) {
  if (token.size() > kTokenBytesMax) return invalid_argument("it is larger than ", kTokenBytesMax, " bytes");
  if (!looks_like_token(token)) return invalid_argument("it has not three parts");
  const size_t head_end = token.find('.'), claims_end = token.rfind('.');
  const auto head = decode_base64url(token.substr(0, head_end));
  auto claims = decode_base64url(token.substr(head_end + 1, claims_end - head_end - 1));
  auto signature = decode_base64url(token.substr(claims_end + 1));
  if (!head || !claims || !signature) return invalid_argument("a part of it is not base64url");
  CheckedDocument json;
  if (!parse_object(*head, json)) return invalid_argument("its header is no JSON object");
  // Extensions that have to be understood, and none is.
  for (const char* name : {"crit", "zip"}) {
    if (json.HasMember(name)) return invalid_argument("its header has '", name, "'");
  }
  const auto algorithm = algorithm_of(text_member(json, "alg").value_or(""));
  if (!algorithm) return invalid_argument("its algorithm is none of RS256, PS256, ES256 and EdDSA");
  SignedToken parsed;
  if (json.HasMember("kid")) {
    const auto id = text_member(json, "kid");
    if (!id) return invalid_argument("its 'kid' is no text");
    parsed.key_id = *id;
  }
  parsed.algorithm = *algorithm;
  parsed.text = token.substr(0, claims_end);
  parsed.signature = *std::move(signature);
  parsed.claims = *std::move(claims);
  return parsed;
}

}  // namespace atl::jwt
