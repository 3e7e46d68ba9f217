/// What a gRPC frontend's options say of TLS.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "frontends/common/sockets/listen_address.h"

namespace atl::frontends {

/// Paths of PEM files.
struct TlsSettings {
  bool use_ssl = false;  ///< mutual TLS implies it
  bool mutual = false;   ///< demand a certificate of clients, signed by root_cert
  std::string server_cert;
  std::string server_key;
  std::string root_cert;

  /// Whatever is written, be it enough or not.
  static TlsSettings given(const Options& options) noexcept;
  /// Errors: INVALID_ARGUMENT a file that is needed is not named.
  static Result<TlsSettings> read(const Options& options) noexcept;
};

/// What is in the files.
struct TlsFiles {
  std::string server_cert;
  std::string server_key;
  std::string root_cert;  ///< empty: none is named
};

/// Reads the files that are named. Errors: INVALID_ARGUMENT one cannot be read, is too large, or holds no
/// certificate or key; the text names the option and the file, never what is in it.
Result<TlsFiles> read_tls_files(const TlsSettings& settings) noexcept;

/// Reports each file that is named and that read_tls_files() refuses.
void check_tls_files(const TlsSettings& settings, OptionCheck& check);
/// What to say of files that were read but do not serve. \param why  in addition; empty: not known
Status unusable_tls_files(const ListenAddress& address, const TlsSettings& settings, std::string_view why);

}  // namespace atl::frontends
