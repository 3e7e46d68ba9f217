/// Callers by the certificates of their connections.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/frontend/access.h"
#include "atoll/lib/key_line.h"
#include "security/mtls/certificate_name.h"
#include "security/mtls/trusted_peers.h"

namespace atl::mtls {

/// Which names are meant.
struct NamePattern {
  enum class Kind { kAny, kUri, kCommonName };
  Kind kind = Kind::kAny;
  std::string pattern;  ///< '*' stands for any characters

  /// \param text  "URI=PATTERN", "CN=PATTERN" or "*". Errors: INVALID_ARGUMENT it is none of them.
  static Result<NamePattern> parse(std::string_view text) noexcept;
  bool matches(const CertificateName& name) const noexcept;
};

struct CertificateSettings {
  struct Grant {
    NamePattern who;
    Permissions permissions;
  };
  struct Tenant {
    NamePattern who;
    std::string name;
  };
  bool opens_probes = true;
  std::vector<Grant> grants;
  std::vector<Tenant> tenants;  ///< longest pattern first
  TrustedPeers proxies;

  const std::string& tenant_of(const CertificateName& name) const noexcept;
};

/// Errors: INVALID_ARGUMENT the first option that is wrong.
Result<CertificateSettings> read_settings(const Options& options);
/// All that is wrong with the options.
void check_settings(OptionCheck& check);

class CertificateSource {
 public:
  CertificateSource(Host& host, CertificateSettings settings)
      : clock_(host.clock()), settings_(std::make_shared<const CertificateSettings>(std::move(settings))) {}

  /// As Access::identify_certified(). [request]
  Result<IdentityOutcome> identify(const AccessQuestion& question, const ClientCertificate* certificate,
                                   std::shared_ptr<const Identity>* identity) const noexcept;

 private:
  Result<IdentityOutcome> identify_by(const ClientCertificate& certificate,
                                      std::shared_ptr<const Identity>* identity) const;

  Clock& clock_;
  const std::shared_ptr<const CertificateSettings> settings_;
};

}  // namespace atl::mtls
