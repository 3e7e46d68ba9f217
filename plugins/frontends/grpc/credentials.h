/// What the listener demands of connections: nothing, or TLS.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "atoll/core/status.h"
#include "frontends/common/tls/tls_settings.h"

namespace atl::frontends::grpc_frontend {

/// Reads the files. Errors: INVALID_ARGUMENT a file that cannot be read, is too large, or holds no
/// certificate or key; the text names the option and the file, never what is in it.
Result<std::shared_ptr<grpc::ServerCredentials>> make_credentials(const TlsSettings& settings) noexcept;

/// Whether gRPC can serve with them: it looks at keys and certificates only when a port is opened with them,
/// and connections that are handed to it open none. Tried on a socket that only this machine could reach, and
/// that is gone when this returns.
bool are_usable(const std::shared_ptr<grpc::ServerCredentials>& credentials);

}  // namespace atl::frontends::grpc_frontend
