/// What TLS connections have in common: the server's certificate, who may connect, and the rules.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/status.h"
#include "frontends/common/tls/tls_settings.h"

// OpenSSL's SSL_CTX, SSL, X509, EVP_PKEY and BIO.
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;
struct evp_pkey_st;
struct bio_st;

namespace atl::frontends {

/// Defined where OpenSSL's headers are: they are large, and whoever has a connection includes this.
struct OpensslFree {
  void operator()(ssl_ctx_st* context) const noexcept;
  void operator()(ssl_st* connection) const noexcept;
  void operator()(x509_st* certificate) const noexcept;
  void operator()(evp_pkey_st* key) const noexcept;
  void operator()(bio_st* bio) const noexcept;
};
template <class T>
using OpensslPtr = std::unique_ptr<T, OpensslFree>;

/// Texts of PEM files.
struct TlsPem {
  std::string server_cert;  ///< the server's, then those that lead to its authority
  std::string server_key;
  std::string root_cert;            ///< may sign those of clients; empty: none
  bool mutual = false;              ///< ask clients for a certificate
  bool require_client_cert = true;  ///< with `mutual`: refuse clients that have none
};

/// The same of who calls a server.
struct TlsClientPem {
  std::string root_cert;    ///< may have signed the server's certificate
  std::string client_cert;  ///< empty: none is shown
  std::string client_key;
};

/// TLS 1.2 and 1.3 with what HTTP/2 allows of them (RFC 9113, 9.2). Clients that do not offer `h2` (ALPN) where it is what
/// is spoken, or that offer others than `http/1.1` where that is, are refused before anything is signed for them, with the
/// alert no_application_protocol. Sessions are resumed by tickets; nothing is kept of them here.
class TlsContext {
 public:
  /// Errors: INVALID_ARGUMENT the texts hold nothing that OpenSSL can read, or the key is another certificate's;
  /// the message says which, and nothing of the texts.
  static Result<TlsContext> make(const TlsPem& pem, TlsProtocol protocol = TlsProtocol::kHttp2,
                                 const TlsRules& rules = {}) noexcept;

  /// For connections to other servers, which have to prove who they are. Errors: INVALID_ARGUMENT as of make().
  static Result<TlsContext> make_client(const TlsClientPem& pem, TlsProtocol protocol) noexcept;

  /// A connection's server end, without its socket; it may outlive this. [any] Null: no memory.
  OpensslPtr<ssl_st> accept() const noexcept;
  /// Likewise the client's end, of make_client(). \param name  that the server's certificate has to be for: of DNS, or an IP address
  OpensslPtr<ssl_st> connect(const std::string& name) const noexcept;

  /// Who the certificate is for and until when, for people.
  std::string certificate_text() const;
  /// Why no client will take the certificate at this time: "it has expired"; empty: no such reason.
  std::string time_problem() const;

 private:
  explicit TlsContext(OpensslPtr<ssl_ctx_st> context) noexcept : context_(std::move(context)) {}

  OpensslPtr<ssl_ctx_st> context_;
};

/// Errors: INVALID_ARGUMENT OpenSSL knows none of the ciphers.
Status check_ciphers(const TlsRules& rules) noexcept;

/// Why OpenSSL's last call of this thread has failed, for people. Forgets it.
std::string take_openssl_error();

}  // namespace atl::frontends
