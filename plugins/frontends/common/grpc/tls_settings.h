/// What a gRPC frontend's options say of TLS.
#pragma once

#include <string>
#include <string_view>

#include "atoll/options.h"
#include "atoll/status.h"

namespace atl::frontends {

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

/// The content of a PEM file. \param option  that names it \param block  what the file must hold: "CERTIFICATE" or
/// "PRIVATE KEY". Errors: INVALID_ARGUMENT it can not be read, is too large, or holds no such block; the text
/// names the option and the file, never what is in it.
Status read_pem(std::string_view option, const std::string& path, std::string_view block,
                std::string* content);

}  // namespace atl::frontends
