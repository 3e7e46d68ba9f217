#include "settings.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "atoll/clock.h"

namespace atl::frontends::grpc_frontend {
namespace {

int milliseconds(const Options& options, std::string_view key) {
  int64_t value = options.get_duration_ns(key) / kNsPerMs;
  return static_cast<int>(std::clamp<int64_t>(value, 0, std::numeric_limits<int>::max()));
}

int integer(const Options& options, std::string_view key) {
  return static_cast<int>(std::clamp<int64_t>(options.get_int(key), 0, std::numeric_limits<int>::max()));
}

Status read_address(const std::string& text, Settings* settings) {
  auto refuse = [&] {
    return invalid_argument("option 'address' is '", text,
                            "', expected host:port with a port of 0 to 65535, such as 127.0.0.1:8001");
  };
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return refuse();
  std::string host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return refuse();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return refuse();
  }
  const char* first = text.data() + colon + 1;
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(first, last, settings->port);
  if (error != std::errc() || end != last) return refuse();
  settings->host = std::move(host);
  return {};
}

}  // namespace

std::string Settings::address(int bound_port) const {
  if (host.find(':') != std::string::npos) return cat("[", host, "]:", bound_port);
  return cat(host, ":", bound_port);
}

Result<Settings> read_settings(const Options& options) noexcept {
  Settings settings;
  if (Status status = read_address(options.get_string("address"), &settings); !status.ok()) return status;
  settings.threads = static_cast<uint32_t>(integer(options, "threads"));
  settings.max_message_bytes = static_cast<int>(
      std::min<uint64_t>(options.get_bytes("max_message_bytes"), std::numeric_limits<int>::max()));
  settings.max_streams_per_connection = integer(options, "max_streams_per_connection");
  settings.server_name = options.get_string("server_name");
  settings.response_compression = options.get_string("response_compression");
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

}  // namespace atl::frontends::grpc_frontend
