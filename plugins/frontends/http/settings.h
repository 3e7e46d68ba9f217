/// The frontend's options, read.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/options.h"
#include "atoll/status.h"
#include "common/header_forward.h"
#include "common/listen_address.h"
#include "common/restricted_access.h"
#include "common/tenant_header.h"

namespace atl::frontends::http {

struct Settings {
  ListenAddress address;
  uint32_t threads = 0;
  uint64_t max_input_bytes = 0;
  int too_large_status = 0;  ///< 400 or 413
  uint32_t max_connections = 0;
  int64_t header_timeout_ns = 0;
  int64_t idle_timeout_ns = 0;
  uint64_t max_stream_backlog_bytes = 0;
  std::string server_name;
  HeaderForward forward;
  TenantHeader tenant;
  RestrictedAccess restricted;
};

/// Errors: INVALID_ARGUMENT address, header_forward_pattern, tenant_header, restricted_apis.
Result<Settings> read_settings(const Options& options) noexcept;

}  // namespace atl::frontends::http
