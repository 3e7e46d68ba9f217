/// Whether somebody listens on an address already.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/status.h"

namespace atl::frontends::grpc_frontend {

/// Binds the address for a moment, without sharing it: gRPC itself would share a port that another process of
/// the same user shares too, and half of the calls would go astray. Port 0 always succeeds.
/// Errors: UNAVAILABLE "Socket '<host>:<port>' already in use "; INVALID_ARGUMENT the host is unknown or not
/// an address of this machine, the port is not allowed.
Status check_address_is_free(const std::string& host, uint16_t port) noexcept;

}  // namespace atl::frontends::grpc_frontend
