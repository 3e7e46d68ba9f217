/// Callers by JSON web tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/frontend/access.h"
#include "atoll/lib/file_watch.h"
#include "atoll/lib/key_line.h"
#include "security/jwt/token_verifier.h"

namespace atl::jwt {

struct JwtSettings {
  std::string file;  ///< of the key set
  bool opens_probes = true;
  int64_t poll_interval_ns = 0;
  VerifierSettings verifier;
  /// What each of verifier.claims.granting permits.
  std::vector<Permissions> permissions;
  std::optional<Permissions> for_all;  ///< what every valid token permits
};

/// Errors: INVALID_ARGUMENT the first option that is wrong.
Result<JwtSettings> read_settings(const Options& options);
/// All that is wrong with the options, the file of keys included.
void check_settings(OptionCheck& check);

class JwtSource {
 public:
  JwtSource(Host& host, JwtSettings settings);

  /// Reads the keys and follows the file. [control] Errors: it cannot be read or has no key.
  Status start();
  /// As Access::identify(). [request]
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept;

 private:
  Status read();

  Host& host_;
  const std::shared_ptr<const JwtSettings> settings_;
  TokenVerifier verifier_;
  FileWatch watch_;  ///< ends first
};

}  // namespace atl::jwt
