#include "security/mtls/certificate_source.h"

#include <algorithm>
#include <array>

#include "atoll/core/guarded.h"
#include "security/mtls/forwarded_certificate.h"

namespace atl::mtls {
namespace {

constexpr std::string_view kForwarded = "x-forwarded-client-cert";

class CertificateIdentity final : public Identity {
 public:
  CertificateIdentity(CertificateName name, int64_t expires_s,
                      std::shared_ptr<const CertificateSettings> settings, Clock& clock)
      : name_(std::move(name)), expires_s_(expires_s), settings_(std::move(settings)), clock_(clock) {}
  ~CertificateIdentity() override = default;

  std::string_view name() const noexcept override { return name_.text; }
  std::string_view tenant() const noexcept override { return settings_->tenant_of(name_); }
  bool may(ApiCategory, std::string_view category, std::string_view model) const noexcept override {
    return any([&](const Permissions& one) { return one.may(category, model); });
  }
  bool may_all(ApiCategory, std::string_view category) const noexcept override {
    return any([&](const Permissions& one) { return one.may_all(category); });
  }
  bool holds() const noexcept override { return clock_.wall_ns() / kNsPerSecond < expires_s_; }

 private:
  template <class Test>
  bool any(Test&& test) const noexcept {
    return std::ranges::any_of(settings_->grants, [&](const CertificateSettings::Grant& grant) {
      return grant.who.matches(name_) && test(grant.permissions);
    });
  }

  const CertificateName name_;
  const int64_t expires_s_;
  const std::shared_ptr<const CertificateSettings> settings_;
  Clock& clock_;
};

Status read_permission(const std::string& name, const std::string& text, CertificateSettings& settings) {
  Result<NamePattern> who = NamePattern::parse(name);
  if (!who.ok()) return std::move(who).status();
  Result<Permissions> permissions = Permissions::parse(text);
  if (!permissions.ok()) return std::move(permissions).status();
  settings.grants.push_back({std::move(who).value(), std::move(permissions).value()});
  return {};
}

Status read_tenant(const std::string& name, const std::string& text, CertificateSettings& settings) {
  Result<NamePattern> who = NamePattern::parse(name);
  if (!who.ok()) return std::move(who).status();
  if (text.empty()) return invalid_argument("found no tenant");
  settings.tenants.push_back({std::move(who).value(), text});
  return {};
}

using ReadEntry = Status (*)(const std::string& name, const std::string& text, CertificateSettings& settings);

/// Calls `failed(name, why)` for each entry of the option that is wrong.
template <class Failed>
void read_entries(const Options& options, const char* option, ReadEntry read, CertificateSettings& settings,
                  Failed&& failed) {
  for (const auto& [name, text] : options.get_map(option)) {
    if (Status status = read(name, text, settings); !status.ok()) failed(name, status.message());
  }
}

}  // namespace

Result<NamePattern> NamePattern::parse(std::string_view text) noexcept {
  if (text == "*") return NamePattern{};
  for (const auto& [begin, kind] : {std::pair("URI=", Kind::kUri), std::pair("CN=", Kind::kCommonName)}) {
    const std::string_view prefix(begin);
    if (text.size() > prefix.size() && text.starts_with(prefix))
      return NamePattern{kind, std::string(text.substr(prefix.size()))};
  }
  return invalid_argument("found the name '", text, "', expected 'URI=PATTERN', 'CN=PATTERN' or '*'");
}

bool NamePattern::matches(const CertificateName& name) const noexcept {
  return kind == Kind::kAny || (name.is_uri == (kind == Kind::kUri) && matches_pattern(pattern, name.text));
}

const std::string& CertificateSettings::tenant_of(const CertificateName& name) const noexcept {
  const auto found =
      std::ranges::find_if(tenants, [&](const Tenant& tenant) { return tenant.who.matches(name); });
  return found == tenants.end() ? name.text : found->name;
}

Result<CertificateSettings> read_settings(const Options& options) {
  CertificateSettings settings;
  settings.opens_probes = options.get_string("probes") == "open";
  Status first;
  const auto note = [&](const char* option) {
    return [&first, option](std::string_view name, std::string_view why) {
      if (first.ok()) first = invalid_argument("option '", option, "', '", name, "': ", why);
    };
  };
  read_entries(options, "permissions", read_permission, settings, note("permissions"));
  read_entries(options, "tenants", read_tenant, settings, note("tenants"));
  std::ranges::stable_sort(settings.tenants, [](const auto& left, const auto& right) {
    return left.who.pattern.size() > right.who.pattern.size();
  });
  for (const std::string& text : options.get_strings("trusted_proxies")) {
    Status added = settings.proxies.add(text);
    if (!added.ok() && first.ok()) first = invalid_argument("option 'trusted_proxies': ", added.message());
  }
  if (!first.ok()) return first;
  return settings;
}

void check_settings(OptionCheck& check) {
  CertificateSettings unused;
  const auto report = [&](const char* option) {
    return [&check, option](std::string_view name, std::string_view why) { check.report(option, name, why); };
  };
  read_entries(check.options(), "permissions", read_permission, unused, report("permissions"));
  read_entries(check.options(), "tenants", read_tenant, unused, report("tenants"));
  check.list("trusted_proxies", [](const auto& texts) -> Status {
    TrustedPeers peers;
    for (const std::string& text : texts) ATOLL_RETURN_IF_ERROR(peers.add(text));
    return {};
  });
}

Result<IdentityOutcome> CertificateSource::identify(
    const AccessQuestion& question, const ClientCertificate* certificate,
    std::shared_ptr<const Identity>* identity) const noexcept {
  if (question.is_probe && settings_->opens_probes) return IdentityOutcome::kOpen;
  return guarded("reading a certificate", [&]() -> Result<IdentityOutcome> {
    if (settings_->proxies.empty() || !settings_->proxies.has(question.head.peer())) {
      return certificate == nullptr ? IdentityOutcome::kNotMine : identify_by(*certificate, identity);
    }
    // The connection's certificate is the proxy's, whose clients must not have what it may do itself.
    std::array<std::string_view, 1> values;
    const size_t count = question.head.find(kForwarded, values);
    if (count == 0) return IdentityOutcome::kNotMine;
    if (count > 1) return make_status(Code::kUnauthenticated, "several forwarded certificates");
    Result<ClientCertificate> forwarded = read_forwarded_certificate(values[0]);
    if (!forwarded.ok()) return std::move(forwarded).status();
    return identify_by(*forwarded, identity);
  });
}

Result<IdentityOutcome> CertificateSource::identify_by(const ClientCertificate& certificate,
                                                       std::shared_ptr<const Identity>* identity) const {
  Result<CertificateName> name = name_of(certificate);
  if (!name.ok()) return std::move(name).status();
  auto known = std::make_shared<const CertificateIdentity>(std::move(name).value(), certificate.expires_s,
                                                           settings_, clock_);
  if (!known->holds()) return make_status(Code::kUnauthenticated, "the certificate has expired");
  *identity = std::move(known);
  return IdentityOutcome::kKnown;
}

}  // namespace atl::mtls
