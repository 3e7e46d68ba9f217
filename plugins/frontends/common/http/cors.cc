#include "frontends/common/http/cors.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/common/http/header_name.h"

namespace atl::frontends::http {
namespace {

/// A day, in seconds; browsers take less.
constexpr std::string_view kPreflightLines =
    "Access-Control-Allow-Methods: GET, POST\r\nAccess-Control-Max-Age: 86400\r\n";
/// What clients of the protocol read beside the headers that pages may always read.
constexpr std::string_view kExposeLine =
    "Access-Control-Expose-Headers: Inference-Header-Content-Length, Retry-After\r\n";

/// As browsers write it: no path, no upper case, no default port is looked for.
bool is_origin(std::string_view text) noexcept {
  if (text == "null") return true;
  const size_t end = text.find("://");
  if (end == std::string_view::npos || end == 0) return false;
  const std::string_view host = text.substr(end + 3);
  const auto is_plain = [](char c) {
    return c > ' ' && c < 0x7F && c != '/' && c != '*' && (c < 'A' || c > 'Z');
  };
  return !host.empty() &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), is_plain) &&
         std::all_of(host.begin(), host.end(), is_plain);
}

}  // namespace

Result<CorsPolicy> CorsPolicy::parse(const std::vector<std::string>& origins) noexcept {
  CorsPolicy policy;
  for (const std::string& origin : origins) {
    if (origin == "*") {
      policy.allows_all_ = true;
    } else if (is_origin(origin)) {
      policy.origins_.push_back(origin);
    } else {
      return invalid_argument("option 'cors_allowed_origins' has '", origin,
                              "', expected an origin as browsers send it, such as https://app.example or "
                              "http://127.0.0.1:8080, or null, or *");
    }
  }
  return policy;
}

bool CorsPolicy::allows(std::string_view origin) const noexcept {
  return allows_all_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

bool CorsPolicy::judge(const RequestHead& head, std::string* lines) const {
  lines->clear();
  // What caches keep of an answer for one origin is not for another one.
  if (!allows_all_) *lines = "Vary: Origin\r\n";
  std::string_view origin, method, headers;
  for (const HeaderField& field : head.fields) {
    if (is_named(field.name, "Origin")) origin = field.value;
    if (is_named(field.name, "Access-Control-Request-Method")) method = field.value;
    if (is_named(field.name, "Access-Control-Request-Headers")) headers = field.value;
  }
  if (origin.empty() || !allows(origin)) return false;
  *lines += cat("Access-Control-Allow-Origin: ", allows_all_ ? "*" : origin, "\r\n");
  if (head.method != "OPTIONS" || method.empty()) {
    *lines += kExposeLine;
    return false;
  }
  *lines += kPreflightLines;
  if (!headers.empty()) *lines += cat("Access-Control-Allow-Headers: ", headers, "\r\n");
  return true;
}

}  // namespace atl::frontends::http
