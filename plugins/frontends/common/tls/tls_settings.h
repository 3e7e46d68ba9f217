/// What a frontend's options say of TLS.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "frontends/common/sockets/listen_address.h"

namespace atl::frontends {

/// Paths of PEM files.
struct TlsSettings {
  bool use_ssl = false;             ///< mutual TLS implies it
  bool mutual = false;              ///< ask clients for a certificate, signed by root_cert
  bool require_client_cert = true;  ///< with `mutual`: refuse clients that have none
  std::string server_cert;
  std::string server_key;
  std::string root_cert;

  /// Whatever is written, be it enough or not.
  static TlsSettings given(const Options& options) noexcept;
  /// Errors: INVALID_ARGUMENT a file that is needed is not named.
  static Result<TlsSettings> read(const Options& options) noexcept;
};

/// What a frontend with TLS of its own demands of handshakes.
struct TlsRules {
  bool only_13 = false;            ///< else TLS 1.2 too
  std::string ciphers = {};        ///< names, separated by ':'; empty: kCiphers of tls_context.cc
  uint32_t max_handshakes = 1000;  ///< under way at a time, of all threads
  int64_t poll_interval_ns = 0;    ///< between two looks at the files; 0: nobody looks

  static TlsRules read(const Options& options) noexcept;
};

/// What the connections speak inside TLS, as clients offer it (ALPN).
enum class TlsProtocol : uint32_t {
  kHttp2,  ///< "h2", which clients have to offer
  kHttp1,  ///< "http/1.1", where clients offer something
};

/// All that makes the TLS of one listener.
struct TlsSetup {
  std::string who;  ///< in messages: "gRPC"
  ListenAddress address;
  TlsProtocol protocol = TlsProtocol::kHttp1;
  TlsSettings files;
  TlsRules rules{};
  uint32_t threads = 1;  ///< which share the handshakes
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

/// What is wrong with the options that name files, each by itself, and with each file that read_tls_files() refuses.
void check_tls_files(OptionCheck& check);
/// What to say of files that were read but do not serve. \param who  cannot listen: "gRPC"
/// \param why  in addition; empty: not known
Status unusable_tls_files(std::string_view who, const ListenAddress& address, const TlsSettings& settings,
                          std::string_view why);

}  // namespace atl::frontends
