#include "frontends/common/tls/client_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <new>
#include <string>

#include "frontends/common/tls/tls_context.h"

namespace atl::frontends {
namespace {

/// Their size is that of the text, which may have NUL inside.
std::string text_of(const ASN1_STRING* text) {
  const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
  return {bytes, static_cast<size_t>(ASN1_STRING_length(text))};
}

std::vector<std::string> uris_of(const X509* certificate) {
  std::vector<std::string> uris;
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_URI) uris.push_back(text_of(name->d.uniformResourceIdentifier));
  }
  GENERAL_NAMES_free(names);
  return uris;
}

/// False: one of them is no text.
bool read_common_names(const X509* certificate, std::vector<std::string>* names) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, NID_commonName, i)) >= 0;) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
    if (size < 0) return false;
    names->emplace_back(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
    OPENSSL_free(text);
  }
  return true;
}

}  // namespace

std::shared_ptr<const ClientCertificate> read_client_certificate(const X509* certificate) noexcept try {
  // What OpenSSL notes of failures in here is not the connection's.
  ERR_set_mark();
  auto client = std::make_shared<ClientCertificate>();
  client->uris = uris_of(certificate);
  std::tm end{};
  const bool is_read = read_common_names(certificate, &client->common_names) &&
                       ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1;
  ERR_pop_to_mark();
  if (!is_read) return nullptr;
  client->expires_s = ::timegm(&end);
  return client;
} catch (const std::bad_alloc&) {
  return nullptr;
}

std::shared_ptr<const ClientCertificate> read_client_certificate(std::string_view pem) noexcept {
  ERR_set_mark();
  const OpensslPtr<BIO> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const OpensslPtr<X509> certificate(
      text == nullptr ? nullptr : PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  ERR_pop_to_mark();
  return certificate == nullptr ? nullptr : read_client_certificate(certificate.get());
}

std::shared_ptr<const ClientCertificate> verified_client(const SSL* connection) noexcept {
  const X509* const certificate = SSL_get0_peer_certificate(connection);
  // Without a certificate the result is that all is well, and without a demand nobody has looked.
  if (certificate == nullptr || (SSL_get_verify_mode(connection) & SSL_VERIFY_PEER) == 0 ||
      SSL_get_verify_result(connection) != X509_V_OK)
    return nullptr;
  return read_client_certificate(certificate);
}

}  // namespace atl::frontends
