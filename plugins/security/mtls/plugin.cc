/// security/mtls: callers by the certificates that they show.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "security/mtls/certificate_source.h"

namespace atl::mtls {
namespace {

class MtlsPlugin final : public Plugin, public Access {
 public:
  explicit MtlsPlugin(Host& host) : host_(host) {}

  Status init() override {
    Result<CertificateSettings> settings = read_settings(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    source_.emplace(host_, std::move(settings).value());
    return {};
  }

  // --- Access ---
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  /// A frontend that cannot tell of certificates may yet have a proxy before it.
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    return source_->identify(question, nullptr, identity);
  }
  Result<IdentityOutcome> identify_certified(const AccessQuestion& question,
                                             std::shared_ptr<const Identity>* identity) noexcept override {
    return source_->identify(question, question.head.certificate(), identity);
  }

 private:
  Host& host_;
  std::optional<CertificateSource> source_;
};

constexpr OptionTable kOptions{
    option_string_map("permissions")
        .help(
            "What certificates permit: names 'URI=PATTERN' or 'CN=PATTERN', in which '*' stands for any characters, or '*' for every certificate, each with permissions as in files of security/keys. A certificate has those of all names that match its own."),
    option_string_map("tenants").help(
        "Tenants: names as in permissions, of which the longest that matches counts. Without one a caller's name is its tenant."),
    option_string_list("trusted_proxies")
        .help(
            "Addresses and networks of proxies, such as '10.0.0.0/8': of calls from there the header x-forwarded-client-cert says who the client is, and never the connection's own certificate. From elsewhere the header does not count."),
    option_string("probes", "open")
        .choices("open|closed")
        .help(
            "Whether calls that ask if the server lives or is ready need a certificate (closed), or not (open)."),
};

}  // namespace

ATOLL_PLUGIN(MtlsPlugin,
             {.name = "security/mtls",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Knows callers by the certificates of their connections.",
              // Below the sources of tokens: a token is said for this call, a certificate for all.
              .provides = {provide<Access>().minor(2).rank(-2)},
              .options = kOptions,
              .check = &check_settings});

}  // namespace atl::mtls
