#include "trusted_certificates.h"

namespace atl {
namespace {

constexpr const char* kFiles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch Linux, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, Red Hat and what is made of them
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // the same, of later versions
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // others
};

}  // namespace

TrustedCertificates trusted_certificates(const std::function<const char*(const char*)>& variable,
                                         const std::function<bool(const char*)>& exists) {
  TrustedCertificates found;
  if (const char* const file = variable("SSL_CERT_FILE")) found.file = file;
  if (const char* const folder = variable("SSL_CERT_DIR")) found.folder = folder;
  if (!found.file.empty() || !found.folder.empty()) return found;
  for (const char* const file : kFiles) {
    if (exists(file)) return {file, ""};
  }
  return {};
}

}  // namespace atl
