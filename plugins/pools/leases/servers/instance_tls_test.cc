#include "pools/leases/servers/instance_tls.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>

#include "atoll/core/events.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::pools {
namespace {

/// A certificate that has signed itself, and its key, as PEM.
struct Pair {
  explicit Pair(long valid_seconds = 3600) {
    EVP_PKEY* const pkey = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), valid_seconds);
    X509_set_pubkey(certificate, pkey);
    EXPECT_GT(X509_sign(certificate, pkey, EVP_sha256()), 0);
    cert = text([&](BIO* to) { PEM_write_bio_X509(to, certificate); });
    key = text([&](BIO* to) { PEM_write_bio_PrivateKey(to, pkey, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_free(certificate);
    EVP_PKEY_free(pkey);
  }
  template <class Write>
  static std::string text(Write write) {
    BIO* const bio = BIO_new(BIO_s_mem());
    write(bio);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string all(data, static_cast<size_t>(size));
    BIO_free(bio);
    return all;
  }

  std::string cert;
  std::string key;
};

class InstanceTlsTest : public testing::Test {
 protected:
  InstanceTlsTest() {
    settings_.use_ssl = true;
    settings_.root_cert = write("ca.crt", pair_.cert);
    settings_.client_cert = write("client.crt", pair_.cert);
    settings_.client_key = write("client.key", pair_.key);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::string path = (directory_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  void expect_refused(const std::string& why) {
    const auto read = read_instance_tls(settings_);
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(read.status().message(), why);
  }
  /// What the kernel says when it has applied the manifest.
  void reload() {
    ServerStateChanged event;
    event.state = ServerStateChanged::State::kActive;
    event.generation = ++generation_;
    host_.events().publish(event);
    host_.events().deliver();
  }

  const Pair pair_;
  test::TemporaryDirectory directory_;
  test::FakeHost host_{"pools"};
  InstanceTlsSettings settings_;
  uint64_t generation_ = 0;
};

TEST_F(InstanceTlsTest, CallsThatStayOnThisMachineHaveNone) {
  InstanceTls tls(settings_);
  ASSERT_TRUE(tls.start(host_).ok());
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    EXPECT_EQ(tls.of({host, 8000}), nullptr);
  for (const char* host :
       {"10.0.0.7", "fd00::2", "node7", "127.example.org", "localhost.example.org", "0.0.0.0"}) {
    const auto rules = tls.of({host, 8000});
    ASSERT_NE(rules, nullptr) << host;
    EXPECT_EQ(rules->root_cert, pair_.cert);
    EXPECT_EQ(rules->client_key, pair_.key);
  }
}

TEST_F(InstanceTlsTest, TheyMayHaveItToo) {
  settings_.on_loopback = true;
  InstanceTls tls(settings_);
  ASSERT_TRUE(tls.start(host_).ok());
  EXPECT_NE(tls.of({"127.0.0.1", 8000}), nullptr);
}

TEST_F(InstanceTlsTest, WithoutTheOptionNoFileIsRead) {
  InstanceTlsSettings settings;
  settings.root_cert = "/nowhere";
  InstanceTls tls(settings);
  ASSERT_TRUE(tls.start(host_).ok());
  EXPECT_EQ(tls.of({"10.0.0.7", 8000}), nullptr);
}

TEST_F(InstanceTlsTest, FilesThatAreNoUseAreRefusedByName) {
  const auto text = [](const char* option, const std::string& path, const char* why) {
    return cat("option '", option, "' names '", path, "', expected a readable PEM file: ", why);
  };
  const InstanceTlsSettings good = settings_;
  settings_.root_cert = "/nowhere";
  expect_refused(text("root_cert", "/nowhere", "No such file or directory"));
  settings_.root_cert = directory_.path();
  expect_refused(text("root_cert", directory_.path(), "it is not a regular file"));
  settings_.root_cert = write("empty", "hello");
  expect_refused(text("root_cert", settings_.root_cert, "it has no CERTIFICATE"));
  settings_.root_cert = write("cut", pair_.cert + pair_.cert.substr(0, pair_.cert.size() / 2));
  expect_refused(text("root_cert", settings_.root_cert, "a certificate of it cannot be read"));
  settings_.root_cert = write("large", std::string((1 << 20) + 1, 'x'));
  expect_refused(text("root_cert", settings_.root_cert, "it has 1048577 bytes, at most 1048576"));
  settings_ = good;
  settings_.client_cert = settings_.client_key;
  expect_refused(text("client_cert", settings_.client_cert, "it has no CERTIFICATE"));
  settings_ = good;
  settings_.client_key = settings_.client_cert;
  expect_refused(text("client_key", settings_.client_key, "it has no PRIVATE KEY without a password"));
  settings_.client_key = write("other.key", Pair().key);
  expect_refused(
      text("client_key", settings_.client_key, "it is not the key of the certificate of 'client_cert'"));
  const Pair expired(-60);
  settings_.client_cert = write("expired.crt", expired.cert);
  settings_.client_key = write("expired.key", expired.key);
  expect_refused(text("client_cert", settings_.client_cert, "its certificate has expired"));
  EXPECT_FALSE(InstanceTls(settings_).start(host_).ok());
}

TEST_F(InstanceTlsTest, FilesThatHaveChangedAreThoseOfNewConnections) {
  InstanceTls tls(settings_);
  ASSERT_TRUE(tls.start(host_).ok());
  const auto before = tls.of({"node7", 8000});
  reload();
  EXPECT_EQ(tls.of({"node7", 8000}), before) << "nothing has changed";
  const Pair next;
  write("client.crt", next.cert);
  reload();
  EXPECT_EQ(tls.of({"node7", 8000}), before) << "the key is another certificate's";
  EXPECT_EQ(host_.log().count(LogLevel::kError, "the TLS files are not taken"), 1u);
  write("client.key", next.key);
  reload();
  const auto after = tls.of({"node7", 8000});
  EXPECT_NE(after, before);
  EXPECT_EQ(after->client_cert, next.cert);
}

}  // namespace
}  // namespace atl::pools
