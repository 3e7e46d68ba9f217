/// What a token says of its owner, and whether it may be used here and now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl::jwt {

struct ClaimSettings {
  std::vector<std::string> issuers;    ///< "iss" has to be one of these
  std::vector<std::string> audiences;  ///< "aud" has to have one of these; empty: it is not looked at
  int64_t skew_s = 60;                 ///< by which clocks may differ
  std::string name_claim = "sub";      ///< whose text is the caller's name
  std::string tenant_claim;            ///< whose text is the caller's tenant; empty: the name is
  /// Claims that give permissions, each with the value that it has to have.
  std::vector<std::pair<std::string, std::string>> granting;
};

struct TokenClaims {
  std::string name, tenant;
  int64_t expires_s = 0;        ///< Unix time; skew is included
  std::vector<size_t> granted;  ///< positions in ClaimSettings::granting that the token has
};

/// \param json   signed by a key that is trusted
/// \param now_s  Unix time
/// Errors: INVALID_ARGUMENT the first of these that does not hold: a JSON object without twins, iss, aud, exp, nbf, name, tenant
Result<TokenClaims> read_claims(std::string_view json, const ClaimSettings& settings, int64_t now_s);

/// "iss" of claims that nobody has verified: only to find out who could. Empty: there is none.
std::string claimed_issuer(std::string_view json);

}  // namespace atl::jwt
