/// Whose requests to a store are.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "atoll/core/status.h"

namespace atl::s3 {

/// Longest file of credentials that is read.
inline constexpr uint64_t kCredentialsBytesMax = 1 << 20;

struct StoreCredentials {
  std::string key_id = {};  ///< empty: requests are anonymous
  std::string secret = {};
  std::string session_token = {};
  std::string region = {};  ///< never empty
};

/// Those of the environment and of Triton's file, TRITON_CLOUD_CREDENTIAL_PATH:
///
///     {"s3": {"": {"key_id": "...", "secret_key": "...", "region": "...", "session_token": "..."},
///             "s3://bucket/prefix": {...}}}
///
/// Immutable. [any]
class CredentialSource {
 public:
  /// \returns the value of a variable; null: it is not set
  using Variables = std::function<const char*(const char* name)>;

  /// Reads the environment, and the file if it is named there.
  /// Errors: INVALID_ARGUMENT the file cannot be read, or is not of this form.
  static Result<CredentialSource> read(const Variables& variables);

  /// The file's of the longest prefix of the URL, else the environment's. What the file's leaves out is the environment's: all
  /// of the key, or the region.
  StoreCredentials of(const std::string& url) const;
  /// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; empty: neither is set.
  const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  StoreCredentials environment_;
  std::string endpoint_;
  std::map<std::string, StoreCredentials> by_prefix_;
};

}  // namespace atl::s3
