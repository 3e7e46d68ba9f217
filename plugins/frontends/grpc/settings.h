/// The frontend's options, read.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/options.h"
#include "atoll/status.h"

namespace atl::frontends::grpc_frontend {

struct Settings {
  std::string host;  ///< without brackets
  uint16_t port = 0;
  uint32_t threads = 0;
  int max_message_bytes = 0;
  int max_streams_per_connection = 0;
  std::string server_name;
  std::string response_compression;  ///< "none", "low", "medium", "high"
  int keepalive_time_ms = 0;
  int keepalive_timeout_ms = 0;
  bool keepalive_permit_without_calls = false;
  int http2_max_pings_without_data = 0;
  int http2_min_recv_ping_interval_without_data_ms = 0;
  int http2_max_ping_strikes = 0;
  int max_connection_age_ms = 0;        ///< 0: not limited
  int max_connection_age_grace_ms = 0;  ///< 0: gRPC's default

  /// "127.0.0.1:8001", "[::1]:8001". \param bound_port  what the socket got.
  std::string address(int bound_port) const;
};

/// Errors: INVALID_ARGUMENT the address.
Result<Settings> read_settings(const Options& options) noexcept;

}  // namespace atl::frontends::grpc_frontend
