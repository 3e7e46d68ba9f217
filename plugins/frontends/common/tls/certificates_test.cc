#include "frontends/common/tls/certificates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"
#include "frontends/common/tls/testing/test_certificates.h"

namespace atl::frontends {
namespace {

namespace fs = std::filesystem;

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    setup_.who = "HTTP";
    setup_.files = {.use_ssl = true,
                    .mutual = false,
                    .server_cert = path("server.crt"),
                    .server_key = path("server.key"),
                    .root_cert = {}};
    setup_.rules.poll_interval_ns = 5 * kNsPerSecond;
  }

  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  void write(const std::string& name, const std::string& content) { std::ofstream(path(name)) << content; }
  void install(const TestCertificate& server) {
    write("server.crt", server.cert());
    write("server.key", server.key());
  }
  void open() {
    Result<std::unique_ptr<Certificates>> opened = Certificates::open(host_, setup_);
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    certificates_ = std::move(opened).value();
  }
  void pass(int64_t seconds) { host_.simulation().run_for(seconds * kNsPerSecond); }
  /// Of the certificate that a connection would get now.
  std::string served() {
    const std::string text = certificates_->listener().certificate_text();
    const size_t begin = text.find("CN=") + 3;
    return text.substr(begin, text.find('\'', begin) - begin);
  }
  size_t records_with(std::string_view text) {
    size_t count = 0;
    for (const auto& record : host_.log().records()) count += record.message.find(text) != std::string::npos;
    return count;
  }

  test::TemporaryDirectory directory_;
  test::FakeHost host_;
  TlsSetup setup_;
  std::unique_ptr<Certificates> certificates_;
};

constexpr const char* kTaken = "TLS files were read again";
constexpr const char* kNotTaken = "the TLS files are not taken, those read before go on serving: ";

TEST_F(CertificatesTest, WithoutTlsThereIsNone) {
  setup_.files.use_ssl = false;
  open();
  EXPECT_EQ(certificates_, nullptr);
}

TEST_F(CertificatesTest, ChangedFilesAreTakenWhenTheyAreQuiet) {
  install(TestCertificate("one"));
  open();
  pass(60);
  EXPECT_EQ(served(), "one");
  EXPECT_EQ(records_with("TLS files"), 0u);
  install(TestCertificate("two"));
  pass(6);
  EXPECT_EQ(served(), "two");
  EXPECT_EQ(records_with(kTaken), 1u);
  pass(60);
  EXPECT_EQ(records_with("TLS files"), 1u);
}

TEST_F(CertificatesTest, FoldersThatAreExchangedByALinkAreSeen) {
  auto fill = [this](const std::string& folder, const TestCertificate& server) {
    fs::create_directory(path(folder));
    write(folder + "/server.crt", server.cert());
    write(folder + "/server.key", server.key());
  };
  fill("..2026_1", TestCertificate("one"));
  fill("..2026_2", TestCertificate("two"));
  fs::create_directory_symlink("..2026_1", path("..data"));
  fs::create_symlink("..data/server.crt", path("server.crt"));
  fs::create_symlink("..data/server.key", path("server.key"));
  open();
  pass(6);
  EXPECT_EQ(served(), "one");
  fs::create_directory_symlink("..2026_2", path("..data_tmp"));
  fs::rename(path("..data_tmp"), path("..data"));
  fs::remove_all(path("..2026_1"));
  pass(6);
  EXPECT_EQ(served(), "two");
}

TEST_F(CertificatesTest, ABrokenFileKeepsTheOldOneAndIsToldOnce) {
  const TestCertificate one("one");
  install(one);
  open();
  write("server.crt", "no certificate");
  pass(60);
  EXPECT_EQ(served(), "one");
  EXPECT_EQ(records_with(kNotTaken), 1u);
  EXPECT_TRUE(host_.log().contains(cat(kNotTaken, "option 'server_cert' names '", path("server.crt"),
                                       "', expected a readable PEM file: it has no CERTIFICATE")));
  fs::remove(path("server.crt"));
  pass(60);
  EXPECT_EQ(records_with(kNotTaken), 2u) << "another defect";
  write("server.crt", one.cert());
  pass(60);
  EXPECT_EQ(records_with(kNotTaken), 2u);
  EXPECT_EQ(records_with(kTaken), 0u) << "it is what is served";
}

TEST_F(CertificatesTest, AKeyThatComesLaterThanItsCertificateIsWaitedFor) {
  const TestCertificate two("two");
  install(TestCertificate("one"));
  open();
  write("server.crt", two.cert());
  host_.simulation().run_for(5 * kNsPerSecond + 100 * kNsPerMs);  // it is seen, and not read yet
  write("server.key", two.key());
  pass(6);
  EXPECT_EQ(served(), "two");
  EXPECT_EQ(records_with(kNotTaken), 0u);
}

TEST_F(CertificatesTest, AKeyThatDoesNotFitIsToldFirst) {
  install(TestCertificate("one"));
  open();
  write("server.crt", TestCertificate("two").cert());
  pass(60);
  EXPECT_EQ(served(), "one");
  EXPECT_EQ(records_with(cat(kNotTaken,
                             "server_key: it is not the certificate's: key values mismatch (server_cert '",
                             path("server.crt"), "', server_key '", path("server.key"), "')")),
            1u)
      << host_.log().records().back().message;
}

TEST_F(CertificatesTest, WhatTheStartHasReadIsNotReadAgainWhenItIsActive) {
  install(TestCertificate("one"));
  open();
  write("server.key", "no key");
  const auto become_active = [this] {
    ServerStateChanged event;
    event.state = ServerStateChanged::State::kActive;
    host_.events().publish(event);
    host_.events().deliver();
  };
  become_active();
  EXPECT_EQ(records_with(kNotTaken), 1u) << "it has changed meanwhile";
  become_active();
  EXPECT_EQ(records_with(kNotTaken), 2u) << "every later manifest has the files read";
}

TEST_F(CertificatesTest, WithoutAnIntervalNobodyLooks) {
  setup_.rules.poll_interval_ns = 0;
  install(TestCertificate("one"));
  open();
  install(TestCertificate("two"));
  pass(60);
  EXPECT_EQ(served(), "one");
  ServerStateChanged event;
  event.state = ServerStateChanged::State::kActive;
  host_.events().publish(event);
  host_.events().deliver();
  EXPECT_EQ(served(), "two");
}

TEST_F(CertificatesTest, CiphersThatNobodyKnowsAreRefused) {
  install(TestCertificate("one"));
  for (const char* ciphers : {"NO-SUCH", "TLS_NO_SUCH"}) {
    setup_.rules.ciphers = ciphers;
    Result<std::unique_ptr<Certificates>> opened = Certificates::open(host_, setup_);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().message(), cat("option 'ssl_ciphers' is '", ciphers,
                                             "', expected ciphers that OpenSSL knows: no cipher match"));
  }
}

}  // namespace
}  // namespace atl::frontends
