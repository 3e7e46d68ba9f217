/// The rows of TLS in the option tables of frontends.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::frontends::tls_rows {

// Of every frontend that can have TLS.
inline constexpr Option kUseSsl =
    option_bool("use_ssl", false).help("Whether connections use TLS; needs server_cert and server_key.");
inline constexpr Option kUseSslMutual =
    option_bool("use_ssl_mutual", false)
        .help("Whether clients must present a certificate signed by root_cert; implies use_ssl.");
inline constexpr Option kRequireClientCert =
    option_bool("require_client_cert", true)
        .help(
            "With use_ssl_mutual, whether TLS refuses clients without a certificate; false: they are let in, and a "
            "plugin says who they are, as security/keys by a token. A certificate that is presented has to be signed "
            "by root_cert in either case.");
inline constexpr Option kServerCert =
    option_string("server_cert", "").help("Path of the PEM file with the server's certificate chain.");
inline constexpr Option kServerKey =
    option_string("server_key", "").help("Path of the PEM file with the server's private key.");
inline constexpr Option kRootCert =
    option_string("root_cert", "")
        .help("Path of the PEM file with the certificates that may sign those of clients.");

// Of those whose TLS is that of this folder.
inline constexpr Option kMinVersion = option_string("ssl_min_version", "1.2")
                                          .choices("1.2|1.3")
                                          .help("Oldest version of TLS that clients may use.");
inline constexpr Option kCiphers =
    option_string("ssl_ciphers", "")
        .help(
            "Ciphers that clients may use, by OpenSSL's names with ':' between them: those that begin with TLS_ for TLS "
            "1.3, others for TLS 1.2; empty: ECDHE with AES-GCM or ChaCha20, and those of TLS 1.3.");
inline constexpr Option kMaxHandshakes =
    option_int("ssl_max_handshakes", 1000)
        .range(1, 1000000)
        .help(
            "TLS handshakes under way at a time; with one more, the one that has taken the longest is closed.");
inline constexpr Option kPollInterval =
    option_duration("ssl_poll_interval", "5s")
        .range("0s", "86400s")
        .help(
            "Time between two looks whether the files of certificates and keys have changed; connections from then on "
            "get what they hold. 0: only when the manifest is applied again (SIGHUP).");

}  // namespace atl::frontends::tls_rows
