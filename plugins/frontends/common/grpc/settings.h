/// The options of a gRPC frontend, read.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "frontends/common/call/header_forward.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/common/call/tenant_header.h"
#include "frontends/common/sockets/listen_address.h"
#include "frontends/common/tls/tls_settings.h"

namespace atl::frontends {

enum class CompressionLevel : uint32_t { kNone, kLow, kMedium, kHigh };

struct GrpcSettings {
  ListenAddress address;
  bool open_after_startup = false;  ///< clients are refused until the models of the start are decided
  bool reuse_port = false;          ///< listen on a port that others listen on as well
  TlsSettings tls;
  uint32_t threads = 0;
  uint32_t max_connections = 0;
  int max_message_bytes = 0;
  uint32_t max_requests_per_stream = 0;
  uint64_t max_stream_backlog_bytes = 0;
  uint32_t max_response_pool_size = 0;
  int max_streams_per_connection = 0;
  std::string server_name;
  bool reflection = false;
  HeaderForward header_forward;
  TenantHeader tenant;
  CompressionLevel response_compression = CompressionLevel::kNone;
  int keepalive_time_ms = 0;
  int keepalive_timeout_ms = 0;
  bool keepalive_permit_without_calls = false;
  int http2_max_pings_without_data = 0;
  int http2_min_recv_ping_interval_without_data_ms = 0;
  int http2_max_ping_strikes = 0;
  int max_connection_age_ms = 0;        ///< 0: not limited
  int max_connection_age_grace_ms = 0;  ///< 0: gRPC's default

  /// A message that is unpacked or takes its inputs from elsewhere is to be no larger than any other.
  CopyLimit copy_limit() const noexcept {
    return {static_cast<uint64_t>(max_message_bytes), "max_message_bytes"};
  }
};

/// What is wrong with the options that are common to the frontends, each by itself, the TLS files included.
void check_grpc_options(OptionCheck& check);
/// Errors: INVALID_ARGUMENT address, TLS files that are not named, header pattern, tenant header.
Result<GrpcSettings> read_grpc_settings(const Options& options) noexcept;

}  // namespace atl::frontends
