/// A JSON web token in its compact form (RFC 7515, 7519), taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "security/jwt/verification_key.h"

namespace atl::jwt {

inline constexpr size_t kTokenBytesMax = 8 << 10;

struct SignedToken {
  Algorithm algorithm = Algorithm::kRs256;
  std::string key_id;     ///< empty: it names none
  std::string_view text;  ///< what is signed; borrowed from the token
  std::string signature;
  std::string claims;  ///< as they were signed: JSON, if whoever signed them is to be believed
};

/// Whether this may be a token of this kind, and none of another: it has two dots.
bool looks_like_token(std::string_view token) noexcept;

/// \param token  outlives the result. Headers that name keys of their own (jwk, jku, x5c, x5u) are not looked at.
/// Errors: INVALID_ARGUMENT too large, no token, an algorithm that is none of Algorithm, `crit` or `zip`
Result<SignedToken> parse_token(std::string_view token);

}  // namespace atl::jwt
