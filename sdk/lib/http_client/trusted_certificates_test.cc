#include "trusted_certificates.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace atl {
namespace {

TrustedCertificates look(const std::map<std::string, const char*>& variables,
                         const std::set<std::string>& files) {
  return trusted_certificates(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second;
      },
      [&](const char* file) { return files.contains(file); });
}

TEST(TrustedCertificatesTest, AreWhereTheDistributionHasThem) {
  for (const char* file :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"}) {
    const TrustedCertificates found = look({}, {file, "/etc/ssl/cert.pem"});
    EXPECT_EQ(found.file, file);
    EXPECT_EQ(found.folder, "");
  }
  EXPECT_EQ(look({}, {"/etc/ssl/cert.pem"}).file, "/etc/ssl/cert.pem");
}

TEST(TrustedCertificatesTest, TheEnvironmentComesFirst) {
  const std::set<std::string> files{"/etc/ssl/certs/ca-certificates.crt"};
  EXPECT_EQ(look({{"SSL_CERT_FILE", "/mine.pem"}}, files).file, "/mine.pem")
      << "also if it is not there: libcurl says so";
  const TrustedCertificates folder = look({{"SSL_CERT_DIR", "/mine"}}, files);
  EXPECT_EQ(folder.file, "");
  EXPECT_EQ(folder.folder, "/mine");
  EXPECT_EQ(look({{"SSL_CERT_FILE", ""}, {"SSL_CERT_DIR", ""}}, files).file, *files.begin())
      << "empty is not set";
}

TEST(TrustedCertificatesTest, WithoutAnyLibcurlDecides) {
  const TrustedCertificates found = look({}, {});
  EXPECT_EQ(found.file + found.folder, "");
}

}  // namespace
}  // namespace atl
