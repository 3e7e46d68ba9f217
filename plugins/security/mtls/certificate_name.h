/// The one name that a certificate gives its owner.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"

namespace atl::mtls {

struct CertificateName {
  bool is_uri = false;  ///< else it is a common name
  std::string text;
};

/// The URI; of a certificate that has none the common name.
/// Errors: UNAUTHENTICATED it has several of them, so that it cannot be said who it is; it has none; the name is not 1 to
/// 256 bytes of UTF-8 without control characters; a common name that could be taken for a URI.
Result<CertificateName> name_of(const ClientCertificate& certificate) noexcept;

}  // namespace atl::mtls
