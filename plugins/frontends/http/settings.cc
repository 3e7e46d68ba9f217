#include "frontends/http/settings.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "atoll/core/usable_cpus.h"
#include "atoll/lib/http_origin.h"
#include "frontends/common/routes/route_path.h"
#include "frontends/common/sockets/thread_count.h"
#include "frontends/common/tls/certificates.h"

namespace atl::frontends::http {
namespace {

uint32_t number(const Options& options, std::string_view key) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(options.get_int(key), 1, std::numeric_limits<int32_t>::max()));
}

/// Errors: INVALID_ARGUMENT one that cannot be a path.
Result<std::vector<std::string>> read_only_routes(const std::vector<std::string>& given) {
  for (const std::string& path : given) {
    if (std::string_view wrong = wrong_route_path(path); !wrong.empty())
      return invalid_argument("found '", path, "', expected a path such as /ping or /v2/models/*: ", wrong);
  }
  return given;
}

}  // namespace

void check_options(OptionCheck& check) {
  const Options& options = check.options();
  check.list("cors_allowed_origins", [](const auto& origins) { return CorsPolicy::parse(origins); });
  check.list("only_routes", read_only_routes);
  check.passes("header_forward_pattern",
               HeaderForward::compile(options.get_string("header_forward_pattern")));
  check.passes("tenant_header", TenantHeader::parse(options.get_string("tenant_header")));
  Result<HttpSettings> settings = read_settings(options);
  check_tls(settings.ok() ? &settings->tls : nullptr, check);
  check.whole(settings);
}

Result<HttpSettings> read_settings(const Options& options) noexcept {
  HttpSettings settings;
  Result<ListenAddress> address = ListenAddress::parse(options.get_string("address"));
  if (!address.ok()) return std::move(address).status();
  settings.is_loopback = is_loopback_host(address->host);
  settings.max_input_bytes = options.get_bytes("max_input_size");
  settings.server = {.name = "HTTP",
                     .thread_name = "http-",
                     .address = std::move(address).value(),
                     .threads = thread_count(options.get_int("threads"), usable_cpus()),
                     .max_connections = number(options, "max_connections"),
                     .max_body_bytes = settings.max_input_bytes,
                     .too_large_status = options.get_string("payload_too_large_status") == "413" ? 413 : 400,
                     .header_timeout_ns = options.get_duration_ns("header_timeout"),
                     .idle_timeout_ns = options.get_duration_ns("idle_timeout"),
                     .open_after_startup = options.get_bool("open_after_startup")};
  Result<CorsPolicy> cors = CorsPolicy::parse(options.get_strings("cors_allowed_origins"));
  if (!cors.ok()) return std::move(cors).status();
  settings.server.cors = std::move(cors).value();
  settings.max_stream_backlog_bytes = options.get_bytes("max_stream_backlog_bytes");
  settings.server_name = options.get_string("server_name");
  Result<std::vector<std::string>> paths = read_only_routes(options.get_strings("only_routes"));
  if (!paths.ok()) return std::move(paths).status();
  settings.only_routes = std::move(paths).value();
  Result<HeaderForward> forward = HeaderForward::compile(options.get_string("header_forward_pattern"));
  if (!forward.ok()) return std::move(forward).status();
  settings.forward = std::move(forward).value();
  Result<TenantHeader> tenant = TenantHeader::parse(options.get_string("tenant_header"));
  if (!tenant.ok()) return std::move(tenant).status();
  settings.tenant = std::move(tenant).value();
  Result<TlsSettings> tls = TlsSettings::read(options);
  if (!tls.ok()) return std::move(tls).status();
  settings.tls = {.who = "HTTP",
                  .address = settings.server.address,
                  .files = std::move(tls).value(),
                  .rules = TlsRules::read(options),
                  .threads = settings.server.threads};
  return settings;
}

}  // namespace atl::frontends::http
