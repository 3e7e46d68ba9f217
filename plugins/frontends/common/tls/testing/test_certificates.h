/// Certificates of a test's own.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string>
#include <utility>

#include "frontends/common/tls/tls_context.h"

namespace atl::frontends {

/// A certificate with its key, which may sign others.
class TestCertificate {
 public:
  /// \param issuer  null: signs itself
  /// \param days    when it ends, from now
  explicit TestCertificate(const std::string& name, const TestCertificate* issuer = nullptr, int days = 2)
      : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    X509* made = certificate_.get();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made), -30L * 24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(made), days * 24L * 3600);
    X509_set_pubkey(made, key_.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const TestCertificate& signs = issuer == nullptr ? *this : *issuer;
    X509_set_issuer_name(made, X509_get_subject_name(signs.certificate_.get()));
    add_extension(NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
    EXPECT_GT(X509_sign(made, signs.key_.get(), EVP_sha256()), 0);
  }

  std::string cert() const {
    const OpensslPtr<BIO> text(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(text.get(), certificate_.get());
    return text_of(text.get());
  }
  std::string key() const {
    const OpensslPtr<BIO> text(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(text.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(text.get());
  }
  X509* x509() const { return certificate_.get(); }
  EVP_PKEY* raw_key() const { return key_.get(); }

 private:
  static std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<size_t>(size)};
  }
  void add_extension(int id, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  static inline long serial_ = 0;
  OpensslPtr<EVP_PKEY> key_;
  OpensslPtr<X509> certificate_;
};

/// The server of the tests; make() of it is sure to succeed.
inline TlsPem pem_of(const TestCertificate& server) {
  return {.server_cert = server.cert(), .server_key = server.key(), .root_cert = {}, .mutual = false};
}

}  // namespace atl::frontends
