#include "repositories/s3/store_url.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"

namespace atl::s3 {
namespace {

constexpr std::string_view kForms =
    "expected s3://BUCKET/PREFIX, s3://HOST:PORT/BUCKET/PREFIX or s3://https://HOST:PORT/BUCKET/PREFIX";
constexpr size_t kPrefixBytesMax = 1024;
constexpr size_t kBucketBytesMax = 255;

bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_';
}

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "host:port", "[::1]:port"; without the port where a scheme was written.
bool is_host(std::string_view text, bool needs_port) noexcept {
  const size_t colon = text.starts_with('[') ? text.find(':', text.find(']')) : text.find(':');
  if (colon == std::string_view::npos && needs_port) return false;
  const std::string_view host = text.substr(0, colon);
  const bool has_name = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_plain(c) || c == '[' || c == ']' || c == ':';
  });
  return has_name && (colon == std::string_view::npos || is_port(text.substr(colon + 1)));
}

std::string_view take_part(std::string_view& rest) noexcept {
  const size_t slash = rest.find('/');
  const std::string_view part = rest.substr(0, slash);
  rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  return part;
}

Status check_prefix(std::string_view prefix) {
  if (prefix.size() > kPrefixBytesMax)
    return invalid_argument("found a prefix of more than ", kPrefixBytesMax, " bytes");
  while (!prefix.empty()) {
    const std::string_view part = take_part(prefix);
    const bool is_bad =
        part.empty() || part == "." || part == ".." ||
        std::any_of(part.begin(), part.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
    if (is_bad) return invalid_argument("found the part '", part, "' of the prefix, which names nothing");
  }
  return {};
}

Status parse_parts(std::string_view rest, StoreUrl& url) {
  bool has_scheme = false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!rest.starts_with(scheme)) continue;
    has_scheme = true;
    url.is_tls = scheme == "https://";
    rest.remove_prefix(scheme.size());
  }
  const std::string_view before = rest;
  const std::string_view first = take_part(rest);
  if (has_scheme || first.find(':') != std::string_view::npos) {
    if (!is_host(first, !has_scheme))
      return invalid_argument("found the host '", first, "', expected HOST:PORT");
    url.host = first;
    if (!has_scheme) url.is_tls = false;
  } else {
    rest = before;
  }
  url.bucket = take_part(rest);
  const bool is_bucket = !url.bucket.empty() && url.bucket.size() <= kBucketBytesMax && url.bucket != "." &&
                         url.bucket != ".." && std::all_of(url.bucket.begin(), url.bucket.end(), is_plain);
  if (!is_bucket)
    return invalid_argument(url.bucket.empty() ? "found no bucket" : "found a bucket that cannot be one");
  url.prefix = rest;
  return check_prefix(url.prefix);
}

}  // namespace

bool is_store_url(std::string_view path) noexcept {
  return path.starts_with("s3://") || path.starts_with("gs://") || path.starts_with("as://");
}

Result<StoreUrl> parse_store_url(const std::string& text) {
  if (!text.starts_with("s3://")) {
    return invalid_argument("'", text, "': this kind of object store is not served, ", kForms);
  }
  StoreUrl url{.text = text};
  while (url.text.ends_with('/') && !url.text.ends_with("://")) url.text.pop_back();
  const Status status = parse_parts(std::string_view(url.text).substr(5), url);
  if (!status.ok()) return invalid_argument("'", text, "': ", status.message(), "; ", kForms);
  return url;
}

}  // namespace atl::s3
