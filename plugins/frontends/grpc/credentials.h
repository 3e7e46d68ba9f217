/// What the listener demands of connections: nothing, or TLS.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "atoll/options.h"
#include "atoll/status.h"

namespace atl::frontends::grpc_frontend {

/// Paths of PEM files.
struct TlsSettings {
  bool use_ssl = false;  ///< mutual TLS implies it
  bool mutual = false;   ///< demand a certificate of clients, signed by root_cert
  std::string server_cert;
  std::string server_key;
  std::string root_cert;

  /// Errors: INVALID_ARGUMENT a file that is needed is not named.
  static Result<TlsSettings> read(const Options& options) noexcept;
};

/// Reads the files. Errors: INVALID_ARGUMENT a file that can not be read, is too large, or holds no
/// certificate or key; the text names the option and the file, never what is in it.
Result<std::shared_ptr<grpc::ServerCredentials>> make_credentials(const TlsSettings& settings) noexcept;

/// Whether gRPC can serve with them: it looks at keys and certificates only when a port is opened with them,
/// and connections that are handed to it open none. Tried on a socket that only this machine could reach, and
/// that is gone when this returns.
bool are_usable(const std::shared_ptr<grpc::ServerCredentials>& credentials);

}  // namespace atl::frontends::grpc_frontend
