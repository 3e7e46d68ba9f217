#include "frontends/http/management/page_rule.h"

#include "atoll/lib/http_origin.h"
#include "frontends/common/http/header_name.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kOtherOrigin =
    "a web page of another origin may not make this call; its origin would have to stand in cors_allowed_origins";
/// Of a page whose site says that this machine's address is its own.
constexpr std::string_view kOtherName =
    "a web page may make this call under localhost or an address only, as this server listens on the loopback; its origin "
    "would have to stand in cors_allowed_origins";

bool changes_something(ApiCategory category, std::string_view method) noexcept {
  if (method == "GET" || method == "HEAD") return false;
  return category == ApiCategory::kModelRepository || category == ApiCategory::kSharedMemory ||
         category == ApiCategory::kTrace || category == ApiCategory::kLogging;
}

}  // namespace

std::string_view page_refusal(const RequestHead& head, ApiCategory category, const CorsPolicy& cors,
                              bool is_loopback) noexcept {
  if (!changes_something(category, head.method)) return {};
  std::string_view host;
  for (const HeaderField& field : head.fields) {
    if (is_named(field.name, "Host")) host = field.value;
  }
  for (const HeaderField& field : head.fields) {
    if (!is_named(field.name, "Origin") || cors.allows(field.value)) continue;
    if (!is_origin_of(field.value, host)) return kOtherOrigin;
    if (is_loopback && !is_localhost_or_address(host_without_port(host))) return kOtherName;
  }
  return {};
}

}  // namespace atl::frontends::http
