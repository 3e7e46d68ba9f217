#include "security/mtls/certificate_name.h"

#include <algorithm>

#include "atoll/core/utf8.h"

namespace atl::mtls {
namespace {

constexpr size_t kNameBytesMax = 256;

Status no_name(std::string_view why) noexcept { return make_status(Code::kUnauthenticated, why); }

/// "admin\0.example.org" is signed for one owner, and would be read as another's name.
bool is_clean(std::string_view name) noexcept {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return !name.empty() && name.size() <= kNameBytesMax && is_utf8(name) &&
         std::none_of(name.begin(), name.end(), is_control);
}

}  // namespace

Result<CertificateName> name_of(const ClientCertificate& certificate) noexcept {
  const bool is_uri = !certificate.uris.empty();
  const std::vector<std::string>& names = is_uri ? certificate.uris : certificate.common_names;
  if (names.empty()) return no_name("the certificate names nobody");
  if (names.size() > 1) return no_name("the certificate has several names of one kind");
  const std::string& name = names.front();
  if (!is_clean(name)) return no_name("the certificate's name is no text of 1 to 256 bytes");
  if (!is_uri && name.find("://") != std::string::npos)
    return no_name("the certificate's common name has the form of a URI");
  return CertificateName{is_uri, name};
}

}  // namespace atl::mtls
