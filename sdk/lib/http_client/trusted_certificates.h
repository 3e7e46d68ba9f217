/// Whom https servers are trusted by, where nothing else is said.
#pragma once

#include <functional>
#include <string>

namespace atl {

struct TrustedCertificates {
  std::string file = {};    ///< certificates in PEM; empty: none
  std::string folder = {};  ///< of certificates by their hash; empty: none
};

/// SSL_CERT_FILE and SSL_CERT_DIR of the environment, if one of them is set. Else the file that the system has: libcurl
/// looks where it was built to look, and a libcurl that travels with the server comes to systems that have the file
/// elsewhere. Both empty: there is none, and libcurl says so.
/// \param variable  the environment's value; null or "": not set
/// \param exists  whether there is such a file
TrustedCertificates trusted_certificates(const std::function<const char*(const char*)>& variable,
                                         const std::function<bool(const char*)>& exists);

}  // namespace atl
