#include "frontends/common/tls/client_certificate.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <ctime>
#include <string>
#include <vector>

#include "frontends/common/tls/testing/test_certificates.h"

namespace atl::frontends {
namespace {

using Names = std::vector<std::string>;

/// A name of the kind URI, as bytes: what OpenSSL makes of texts has no NUL.
void add_uris(X509* certificate, const Names& uris) {
  GENERAL_NAMES* const names = sk_GENERAL_NAME_new_null();
  for (const std::string& uri : uris) {
    GENERAL_NAME* const name = GENERAL_NAME_new();
    ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size()));
    GENERAL_NAME_set0_value(name, GEN_URI, text);
    sk_GENERAL_NAME_push(names, name);
  }
  ASSERT_EQ(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0), 1);
  GENERAL_NAMES_free(names);
}

void add_common_name(X509* certificate, const std::string& name) {
  ASSERT_EQ(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(name.data()),
                                       static_cast<int>(name.size()), -1, 0),
            1);
}

TEST(ClientCertificate, HasTheNamesAndTheEndOfTheCertificate) {
  const TestCertificate made("ops");
  const auto client = read_client_certificate(made.x509());
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->common_names, Names{"ops"});
  EXPECT_EQ(client->uris, Names{});
  std::tm end{};
  ASSERT_EQ(ASN1_TIME_to_tm(X509_get0_notAfter(made.x509()), &end), 1);
  EXPECT_EQ(client->expires_s, ::timegm(&end));
  const auto again = read_client_certificate(made.cert());
  ASSERT_NE(again, nullptr) << "of the PEM text";
  EXPECT_EQ(again->common_names, client->common_names);
  EXPECT_EQ(again->expires_s, client->expires_s);
}

TEST(ClientCertificate, EveryNameIsTherePutAsItStands) {
  const TestCertificate made("first");
  const std::string with_nul("admin\0.example.org", 18);
  add_common_name(made.x509(), with_nul);
  add_uris(made.x509(), {"spiffe://a/b", std::string("spiffe://a\0c", 12), ""});
  const auto client = read_client_certificate(made.x509());
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->common_names, (Names{"first", with_nul}));
  EXPECT_EQ(client->uris, (Names{"spiffe://a/b", std::string("spiffe://a\0c", 12), ""}));
}

TEST(ClientCertificate, WhatIsNoPemIsNone) {
  EXPECT_EQ(read_client_certificate(std::string_view()), nullptr);
  EXPECT_EQ(read_client_certificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            nullptr);
  EXPECT_EQ(ERR_peek_error(), 0u) << "nothing is left for who looks for errors of its own";
}

/// Both ends of one connection, whose handshake is made in memory.
class Ends {
 public:
  Ends(int verify_mode, const TestCertificate& authority, const TestCertificate& server,
       const TestCertificate* client)
      : context_(SSL_CTX_new(TLS_method()), SSL_CTX_free) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), authority.x509());
    server_.reset(SSL_new(context_.get()));
    client_.reset(SSL_new(context_.get()));
    present(server_.get(), server);
    if (client != nullptr) present(client_.get(), *client);
    // As a careless listener: it asks, and takes whatever comes.
    SSL_set_verify(server_.get(), verify_mode, [](int, X509_STORE_CTX*) { return 1; });
    BIO *left = nullptr, *right = nullptr;
    BIO_new_bio_pair(&left, 0, &right, 0);
    SSL_set_bio(server_.get(), left, left);
    SSL_set_bio(client_.get(), right, right);
    SSL_set_accept_state(server_.get());
    SSL_set_connect_state(client_.get());
    for (int i = 0; i < 10; ++i) {
      (void)SSL_do_handshake(client_.get());
      (void)SSL_do_handshake(server_.get());
    }
    EXPECT_TRUE(SSL_is_init_finished(server_.get()));
  }
  const SSL* server() const { return server_.get(); }

 private:
  static void present(SSL* end, const TestCertificate& certificate) {
    SSL_use_certificate(end, certificate.x509());
    SSL_use_PrivateKey(end, certificate.raw_key());
  }
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  OpensslPtr<SSL> server_, client_;
};

TEST(ClientCertificate, OnlyOneThatWasVerifiedCounts) {
  const TestCertificate authority("authority"), other("other authority");
  const TestCertificate server("server", &authority), good("good", &authority), bad("bad", &other),
      old("old", &authority, -1);
  const Ends verified(SSL_VERIFY_PEER, authority, server, &good);
  const auto client = verified_client(verified.server());
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->common_names, Names{"good"});
  EXPECT_EQ(verified_client(Ends(SSL_VERIFY_PEER, authority, server, &bad).server()), nullptr);
  EXPECT_EQ(verified_client(Ends(SSL_VERIFY_PEER, authority, server, &old).server()), nullptr);
  EXPECT_EQ(verified_client(Ends(SSL_VERIFY_PEER, authority, server, nullptr).server()), nullptr);
  EXPECT_EQ(verified_client(Ends(SSL_VERIFY_NONE, authority, server, &good).server()), nullptr);
}

}  // namespace
}  // namespace atl::frontends
