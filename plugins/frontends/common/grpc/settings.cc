#include "frontends/common/grpc/settings.h"

#include <algorithm>
#include <limits>

#include "atoll/core/clock.h"
#include "atoll/core/usable_cpus.h"
#include "frontends/common/sockets/thread_count.h"

namespace atl::frontends {
namespace {

int milliseconds(const Options& options, std::string_view key) {
  int64_t value = options.get_duration_ns(key) / kNsPerMs;
  return static_cast<int>(std::clamp<int64_t>(value, 0, std::numeric_limits<int>::max()));
}

int integer(const Options& options, std::string_view key) {
  return static_cast<int>(std::clamp<int64_t>(options.get_int(key), 0, std::numeric_limits<int>::max()));
}

CompressionLevel compression_level(const std::string& name) noexcept {
  if (name == "low") return CompressionLevel::kLow;
  if (name == "medium") return CompressionLevel::kMedium;
  return name == "high" ? CompressionLevel::kHigh : CompressionLevel::kNone;
}

/// The options whose text can be wrong.
Status read_checked(const Options& options, GrpcSettings* settings) {
  Result<ListenAddress> address = ListenAddress::parse(options.get_string("address"));
  if (!address.ok()) return std::move(address).status();
  settings->address = std::move(address).value();
  Result<TlsSettings> tls = TlsSettings::read(options);
  if (!tls.ok()) return std::move(tls).status();
  settings->tls = std::move(tls).value();
  Result<HeaderForward> forward = HeaderForward::compile(options.get_string("header_forward_pattern"));
  if (!forward.ok()) return std::move(forward).status();
  settings->header_forward = std::move(forward).value();
  Result<TenantHeader> tenant = TenantHeader::parse(options.get_string("tenant_header"));
  if (!tenant.ok()) return std::move(tenant).status();
  settings->tenant = std::move(tenant).value();
  return {};
}

}  // namespace

void check_grpc_options(OptionCheck& check) {
  const Options& options = check.options();
  check.passes("header_forward_pattern",
               HeaderForward::compile(options.get_string("header_forward_pattern")));
  check.passes("tenant_header", TenantHeader::parse(options.get_string("tenant_header")));
  check_tls_files(check);
  check.whole(read_grpc_settings(options));
}

Result<GrpcSettings> read_grpc_settings(const Options& options) noexcept {
  GrpcSettings settings;
  ATOLL_RETURN_IF_ERROR(read_checked(options, &settings));
  settings.reuse_port = options.get_bool("reuse_port");
  settings.open_after_startup = options.get_bool("open_after_startup");
  settings.threads = thread_count(options.get_int("threads"), usable_cpus());
  settings.max_message_bytes = static_cast<int>(
      std::min<uint64_t>(options.get_bytes("max_message_bytes"), std::numeric_limits<int>::max()));
  settings.max_requests_per_stream = static_cast<uint32_t>(integer(options, "max_requests_per_stream"));
  settings.max_stream_backlog_bytes = options.get_bytes("max_stream_backlog_bytes");
  settings.max_response_pool_size = static_cast<uint32_t>(integer(options, "max_response_pool_size"));
  settings.max_connections = static_cast<uint32_t>(integer(options, "max_connections"));
  settings.max_streams_per_connection = integer(options, "max_streams_per_connection");
  settings.server_name = options.get_string("server_name");
  settings.reflection = options.get_bool("reflection");
  settings.response_compression = compression_level(options.get_string("response_compression"));
  settings.keepalive_time_ms = milliseconds(options, "keepalive_time");
  settings.keepalive_timeout_ms = milliseconds(options, "keepalive_timeout");
  settings.keepalive_permit_without_calls = options.get_bool("keepalive_permit_without_calls");
  settings.http2_max_pings_without_data = integer(options, "http2_max_pings_without_data");
  settings.http2_min_recv_ping_interval_without_data_ms =
      milliseconds(options, "http2_min_recv_ping_interval_without_data");
  settings.http2_max_ping_strikes = integer(options, "http2_max_ping_strikes");
  settings.max_connection_age_ms = milliseconds(options, "max_connection_age");
  settings.max_connection_age_grace_ms = milliseconds(options, "max_connection_age_grace");
  return settings;
}

}  // namespace atl::frontends
