/// Certificates of which a proxy tells in `x-forwarded-client-cert`, as Envoy and meshes made of it do.
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"

namespace atl::mtls {

inline constexpr size_t kForwardedBytesMax = size_t{8} << 10;

/// \param text  one element: "By=...;Hash=...;URI=spiffe://a/b;Subject=\"CN=b,O=a\""; keys in any case
/// \returns the names in it. It is not known when the certificate expires: the proxy has seen to that.
/// Errors: UNAUTHENTICATED it has several elements (of a row of proxies, or one that a client has put in), or another
/// form; a subject with escapes, which different readers read in different ways.
Result<ClientCertificate> read_forwarded_certificate(std::string_view text) noexcept;

}  // namespace atl::mtls
