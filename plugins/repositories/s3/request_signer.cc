#include "repositories/s3/request_signer.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>

#include "atoll/core/text.h"
#include "atoll/lib/hex.h"
#include "atoll/lib/http_request.h"

namespace atl::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr size_t kHashBytes = 32;
constexpr size_t kDateBytes = 8;
using Hash = std::array<uint8_t, kHashBytes>;

Hash hmac(std::span<const uint8_t> key, std::string_view text) {
  Hash hash{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const uint8_t*>(text.data()),
       text.size(), hash.data(), &size);
  return hash;
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Without blanks at the ends, and with single ones within.
std::string trimmed(const std::string& value) {
  std::string out;
  for (const char c : value) {
    const bool is_blank = c == ' ' || c == '\t';
    if (!is_blank) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Hash hash{};
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(), nullptr);
  return hex(hash);
}

std::string encode_path(std::string_view path) {
  std::string out;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    // libcurl takes no bytes for a text that ends somewhere.
    if (!part.empty()) out += percent_encode(std::string(part));
    if (slash == std::string_view::npos) return out;
    out += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string encode_query(const TextPairs& query) {
  TextPairs encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name), value.empty() ? "" : percent_encode(value));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) out += cat(out.empty() ? "" : "&", name, "=", value);
  return out;
}

std::string signing_time(int64_t unix_seconds) {
  const time_t seconds = unix_seconds;
  struct tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const size_t size = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return std::string(text, size);
}

std::vector<std::string> sign_request(const SignableRequest& request, const SigningKey& key,
                                      const std::string& time) {
  TextPairs headers = request.headers;
  headers.emplace_back("host", request.host);
  headers.emplace_back("x-amz-date", time);
  if (!key.session_token.empty()) headers.emplace_back("x-amz-security-token", key.session_token);
  std::sort(headers.begin(), headers.end());
  std::string canonical_headers;
  std::string names;
  for (const auto& [name, value] : headers) {
    canonical_headers += cat(name, ":", trimmed(value), "\n");
    names += cat(names.empty() ? "" : ";", name);
  }
  const std::string canonical = cat(request.method, "\n", request.path, "\n", encode_query(request.query),
                                    "\n", canonical_headers, "\n", names, "\n", request.payload_hash);
  const std::string date = time.substr(0, kDateBytes);
  const std::string scope = cat(date, "/", key.region, "/", key.service, "/aws4_request");
  const std::string to_sign = cat(kAlgorithm, "\n", time, "\n", scope, "\n", sha256_hex(canonical));
  Hash derived = hmac(bytes_of(cat("AWS4", key.secret)), date);
  derived = hmac(derived, key.region);
  derived = hmac(derived, key.service);
  derived = hmac(derived, "aws4_request");
  std::vector<std::string> lines{cat("x-amz-date: ", time)};
  if (!key.session_token.empty()) lines.push_back(cat("x-amz-security-token: ", key.session_token));
  lines.push_back(cat("Authorization: ", kAlgorithm, " Credential=", key.key_id, "/", scope,
                      ", SignedHeaders=", names, ", Signature=", hex(hmac(derived, to_sign))));
  return lines;
}

}  // namespace atl::s3
