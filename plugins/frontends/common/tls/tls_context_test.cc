#include "frontends/common/tls/tls_context.h"

#include <gtest/gtest.h>

#include "frontends/common/tls/testing/test_certificates.h"

namespace atl::frontends {
namespace {

class TlsContextTest : public ::testing::Test {
 protected:
  static std::string refusal(const TlsPem& pem) {
    Result<TlsContext> context = TlsContext::make(pem);
    EXPECT_FALSE(context.ok());
    if (context.ok()) return {};
    EXPECT_EQ(context.status().code(), Code::kInvalidArgument);
    return std::string(context.status().message());
  }
  static std::string damaged(std::string pem) {
    pem.replace(pem.find("\n") + 1, 8, "AAAAAAAA");
    return pem;
  }

  const TestCertificate authority_{"authority"};
  const TestCertificate server_{"server", &authority_};
};

TEST_F(TlsContextTest, TakesACertificateItsChainAndRoots) {
  TlsPem pem = pem_of(server_);
  pem.server_cert += authority_.cert();
  pem.root_cert = authority_.cert() + TestCertificate("another").cert();
  pem.mutual = true;
  Result<TlsContext> context = TlsContext::make(pem);
  ASSERT_TRUE(context.ok()) << context.status().text();
  EXPECT_TRUE(context->certificate_text().starts_with("'CN=server', valid until 20"))
      << context->certificate_text();
  EXPECT_EQ(context->time_problem(), "");
  EXPECT_NE(context->accept(), nullptr);
}

TEST_F(TlsContextTest, SaysWhichTextIsNoUse) {
  TlsPem pem = pem_of(server_);
  pem.server_cert = damaged(server_.cert());
  EXPECT_TRUE(refusal(pem).starts_with("server_cert: its certificate cannot be used: ")) << refusal(pem);
  pem = pem_of(server_);
  pem.server_cert += damaged(authority_.cert());
  EXPECT_TRUE(refusal(pem).starts_with("server_cert: a certificate of its chain cannot be read: "));
  pem = pem_of(server_);
  pem.server_key = damaged(server_.key());
  EXPECT_TRUE(refusal(pem).starts_with("server_key: it cannot be read: "));
  pem = pem_of(server_);
  pem.server_key = authority_.key();
  EXPECT_EQ(refusal(pem), "server_key: it is not the certificate's: key values mismatch");
  pem = pem_of(server_);
  pem.root_cert = damaged(authority_.cert());
  EXPECT_TRUE(refusal(pem).starts_with("root_cert: a certificate of it cannot be read: "));
}

TEST_F(TlsContextTest, AnEncryptedKeyIsRefusedAndNobodyAsked) {
  const OpensslPtr<BIO> text(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(text.get(), server_.raw_key(), EVP_aes_128_cbc(), "secret", 6, nullptr,
                                nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  TlsPem pem = pem_of(server_);
  pem.server_key.assign(data, static_cast<size_t>(size));
  EXPECT_TRUE(refusal(pem).starts_with("server_key: it cannot be read: ")) << refusal(pem);
}

TEST_F(TlsContextTest, KnowsThatACertificateHasExpired) {
  const TestCertificate expired("old", &authority_, -1);
  Result<TlsContext> context = TlsContext::make(pem_of(expired));
  ASSERT_TRUE(context.ok());
  EXPECT_TRUE(context->time_problem().starts_with("it was valid until 20")) << context->time_problem();
}

}  // namespace
}  // namespace atl::frontends
