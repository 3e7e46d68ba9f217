#include "frontends/common/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace atl::frontends {
namespace {

constexpr unsigned char kH2[] = {2, 'h', '2'};
constexpr unsigned char kHttp1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
/// Those of TLS 1.2 that HTTP/2 does not forbid; TLS 1.3 has no others.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr unsigned char kSessionName[] = "atoll";

int on_client_hello(SSL* connection, int* alert, void*) {
  const unsigned char* offered = nullptr;
  size_t size = 0;
  if (SSL_client_hello_get0_ext(connection, TLSEXT_TYPE_application_layer_protocol_negotiation, &offered,
                                &size) == 1) {
    return SSL_CLIENT_HELLO_SUCCESS;
  }
  *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
  return SSL_CLIENT_HELLO_ERROR;
}

/// \param spoken  what is, as a list of one
int select_protocol(SSL*, const unsigned char** selected, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void* spoken) {
  const auto* wanted = static_cast<const unsigned char*>(spoken);
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, wanted, wanted[0] + 1u, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *selected = found;
  return SSL_TLSEXT_ERR_OK;
}

void speak(SSL_CTX* context, TlsProtocol protocol) {
  const bool is_h2 = protocol == TlsProtocol::kHttp2;
  if (is_h2) SSL_CTX_set_client_hello_cb(context, on_client_hello, nullptr);
  SSL_CTX_set_alpn_select_cb(context, select_protocol, const_cast<unsigned char*>(is_h2 ? kH2 : kHttp1));
}

/// Where no cipher of a version is named, that version keeps those it has.
bool use_ciphers(SSL_CTX* context, std::string_view names) {
  std::string of_12;
  std::string of_13;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(':'));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    std::string& list = name.starts_with("TLS_") ? of_13 : of_12;
    list += list.empty() ? "" : ":";
    list += name;
  }
  return SSL_CTX_set_cipher_list(context, of_12.empty() ? kCiphers : of_12.c_str()) == 1 &&
         (of_13.empty() || SSL_CTX_set_ciphersuites(context, of_13.c_str()) == 1);
}

Status refused(std::string_view option, std::string_view what) {
  const std::string why = take_openssl_error();
  return invalid_argument(option, ": ", what, why.empty() ? "" : ": ", why);
}

OpensslPtr<BIO> reader(const std::string& text) {
  return OpensslPtr<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// The next certificate of the text; null: there is no more, or it cannot be read. A file of certificates is
/// never encrypted, and nobody is asked for a password.
OpensslPtr<X509> next_certificate(BIO* text) {
  return OpensslPtr<X509>(PEM_read_bio_X509(text, nullptr, nullptr, const_cast<char*>("")));
}

/// Whether reading stopped where the text has no further block.
bool ended_well() {
  const unsigned long error = ERR_peek_last_error();
  const bool ended = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (ended) ERR_clear_error();
  return ended;
}

/// \param cert, key  options that have named them
Status use_certificate(SSL_CTX* context, const std::string& cert_pem, const std::string& key_pem,
                       std::string_view cert, std::string_view key) {
  const OpensslPtr<BIO> text = reader(cert_pem);
  OpensslPtr<X509> certificate = next_certificate(text.get());
  if (certificate == nullptr || SSL_CTX_use_certificate(context, certificate.get()) != 1) {
    return refused(cert, "its certificate cannot be used");
  }
  while ((certificate = next_certificate(text.get())) != nullptr) {
    if (SSL_CTX_add1_chain_cert(context, certificate.get()) != 1) {
      return refused(cert, "a certificate of its chain cannot be used");
    }
  }
  if (!ended_well()) return refused(cert, "a certificate of its chain cannot be read");
  const OpensslPtr<BIO> key_text = reader(key_pem);
  const OpensslPtr<EVP_PKEY> read(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, const_cast<char*>("")));
  if (read == nullptr) return refused(key, "it cannot be read");
  if (SSL_CTX_use_PrivateKey(context, read.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return refused(key, "it is not the certificate's");
  }
  return {};
}

/// \param of_clients  they are told whose certificates are taken
Status trust(SSL_CTX* context, const std::string& root_cert, bool of_clients) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // A certificate that is named is trusted itself, though another one has signed it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  const OpensslPtr<BIO> text = reader(root_cert);
  int count = 0;
  while (const OpensslPtr<X509> certificate = next_certificate(text.get())) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1 ||
        (of_clients && SSL_CTX_add_client_CA(context, certificate.get()) != 1)) {
      return refused("root_cert", "a certificate of it cannot be used");
    }
    ++count;
  }
  if (!ended_well() || count == 0) return refused("root_cert", "a certificate of it cannot be read");
  return {};
}

/// What both ends have in common.
bool apply_rules(SSL_CTX* context, const TlsRules& rules) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Buffers are given back while a connection has nothing to say: idle ones are many.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return SSL_CTX_set_min_proto_version(context, rules.only_13 ? TLS1_3_VERSION : TLS1_2_VERSION) == 1 &&
         use_ciphers(context, rules.ciphers);
}

bool apply_server_rules(SSL_CTX* context, const TlsPem& pem, const TlsRules& rules) {
  if (pem.mutual) {
    const int without = pem.require_client_cert ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | without, nullptr);
  }
  return apply_rules(context, rules) && SSL_CTX_set_num_tickets(context, 1) == 1 &&
         SSL_CTX_set_session_id_context(context, kSessionName, sizeof kSessionName) == 1;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

std::string take_openssl_error() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (error == 0) return {};
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? std::string(reason) : cat("error ", error);
}

Status check_ciphers(const TlsRules& rules) noexcept {
  ERR_clear_error();
  const OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  if (context != nullptr && use_ciphers(context.get(), rules.ciphers)) return {};
  return invalid_argument("option 'ssl_ciphers' is '", rules.ciphers,
                          "', expected ciphers that OpenSSL knows: ", take_openssl_error());
}

void OpensslFree::operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
void OpensslFree::operator()(SSL* connection) const noexcept { SSL_free(connection); }
void OpensslFree::operator()(X509* certificate) const noexcept { X509_free(certificate); }
void OpensslFree::operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
void OpensslFree::operator()(BIO* bio) const noexcept { BIO_free(bio); }

OpensslPtr<SSL> TlsContext::accept() const noexcept {
  OpensslPtr<SSL> connection(SSL_new(context_.get()));
  if (connection != nullptr) SSL_set_accept_state(connection.get());
  return connection;
}

OpensslPtr<SSL> TlsContext::connect(const std::string& name) const noexcept {
  OpensslPtr<SSL> connection(SSL_new(context_.get()));
  if (connection == nullptr) return nullptr;
  SSL_set_connect_state(connection.get());
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(connection.get());
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // An address is in other fields of a certificate than a name, and no server is told of it (SNI).
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1) return connection;
  ERR_clear_error();
  if (SSL_set1_host(connection.get(), name.c_str()) != 1 ||
      SSL_set_tlsext_host_name(connection.get(), name.c_str()) != 1) {
    return nullptr;
  }
  return connection;
}

Result<TlsContext> TlsContext::make(const TlsPem& pem, TlsProtocol protocol, const TlsRules& rules) noexcept {
  ERR_clear_error();
  OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || !apply_server_rules(context.get(), pem, rules)) {
    return internal_error("OpenSSL cannot be set up: ", take_openssl_error());
  }
  speak(context.get(), protocol);
  ATOLL_RETURN_IF_ERROR(
      use_certificate(context.get(), pem.server_cert, pem.server_key, "server_cert", "server_key"));
  if (!pem.root_cert.empty()) ATOLL_RETURN_IF_ERROR(trust(context.get(), pem.root_cert, true));
  return TlsContext(std::move(context));
}

Result<TlsContext> TlsContext::make_client(const TlsClientPem& pem, TlsProtocol protocol) noexcept {
  ERR_clear_error();
  OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  const bool is_h2 = protocol == TlsProtocol::kHttp2;
  if (context == nullptr || !apply_rules(context.get(), {}) ||
      SSL_CTX_set_alpn_protos(context.get(), is_h2 ? kH2 : kHttp1, is_h2 ? sizeof kH2 : sizeof kHttp1) != 0) {
    return internal_error("OpenSSL cannot be set up: ", take_openssl_error());
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  ATOLL_RETURN_IF_ERROR(trust(context.get(), pem.root_cert, false));
  if (!pem.client_cert.empty()) {
    ATOLL_RETURN_IF_ERROR(
        use_certificate(context.get(), pem.client_cert, pem.client_key, "client_cert", "client_key"));
  }
  return TlsContext(std::move(context));
}

std::string TlsContext::certificate_text() const {
  const X509* certificate = SSL_CTX_get0_certificate(context_.get());
  const OpensslPtr<BIO> text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  const std::string subject(data, size > 0 ? static_cast<size_t>(size) : 0);
  return cat("'", subject, "', valid until ", time_text(X509_get0_notAfter(certificate)));
}

std::string TlsContext::time_problem() const {
  const X509* certificate = SSL_CTX_get0_certificate(context_.get());
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return cat("it was valid until ", time_text(X509_get0_notAfter(certificate)));
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return cat("it is valid from ", time_text(X509_get0_notBefore(certificate)));
  }
  return {};
}

}  // namespace atl::frontends
