/// The frontend's options, read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "frontends/common/call/header_forward.h"
#include "frontends/common/call/tenant_header.h"
#include "frontends/common/http/server_options.h"
#include "frontends/common/tls/tls_settings.h"

namespace atl::frontends::http {

struct HttpSettings {
  ServerOptions server;
  bool is_loopback = false;      ///< it listens for this machine alone
  uint64_t max_input_bytes = 0;  ///< of a body, as it is sent and opened
  uint64_t max_stream_backlog_bytes = 0;
  std::string server_name;
  std::vector<std::string> only_routes;  ///< paths and patterns that are answered; empty: all
  HeaderForward forward;
  TenantHeader tenant;
  TlsSetup tls;
};

/// Errors: INVALID_ARGUMENT address, only_routes, TLS files that are not named, cors_allowed_origins, header_forward_pattern, tenant_header.
void check_options(OptionCheck& check);
Result<HttpSettings> read_settings(const Options& options) noexcept;

}  // namespace atl::frontends::http
