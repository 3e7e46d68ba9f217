/// AWS Signature Version 4: a request that carries no secret, but the proof that its sender knows one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atl::s3 {

/// Names and values as they are, without percent codes.
using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// SHA-256 of no bytes: what a request without a body says of it.
inline constexpr std::string_view kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct SignableRequest {
  std::string method = "GET";
  std::string host = {};   ///< as the header "Host" has it: with the port, unless that is the scheme's own
  std::string path = "/";  ///< encoded: encode_path()
  TextPairs query = {};    ///< not encoded
  TextPairs headers = {};  ///< those to be signed beside host, date and token; names in lower case
  std::string payload_hash = std::string(kEmptyHash);  ///< SHA-256 of the body, hexadecimal
};

struct SigningKey {
  std::string key_id;
  std::string secret;
  std::string session_token = {};  ///< empty: the key is no temporary one
  std::string region;
  std::string service = "s3";
};

/// SHA-256, 64 lower-case hexadecimal digits. [any]
std::string sha256_hex(std::string_view bytes);
/// A path of a URL: percent codes for all but letters, digits, "-._~" and '/'. [any]
std::string encode_path(std::string_view path);
/// A URL's query, ordered as signatures need it. [any]
std::string encode_query(const TextPairs& query);
/// Seconds since the epoch as "20150830T123600Z". [any]
std::string signing_time(int64_t unix_seconds);

/// The headers that a signed request has beside `host` and its own: x-amz-date, x-amz-security-token if there is a token, and
/// authorization. Each "name: value". \param time  as signing_time() [any]
std::vector<std::string> sign_request(const SignableRequest& request, const SigningKey& key,
                                      const std::string& time);

}  // namespace atl::s3
