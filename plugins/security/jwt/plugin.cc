/// security/jwt: callers that an identity provider vouches for.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "security/jwt/jwt_source.h"

namespace atl::jwt {
namespace {

class JwtPlugin final : public Plugin, public Access {
 public:
  explicit JwtPlugin(Host& host) : host_(host) {}

  Status init() override {
    Result<JwtSettings> settings = read_settings(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    source_.emplace(host_, std::move(settings).value());
    return {};
  }
  Status start() override { return source_->start(); }
  void stop() override { source_.reset(); }

  // --- Access ---
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    return source_->identify(question, identity);
  }

 private:
  Host& host_;
  std::optional<JwtSource> source_;
};

constexpr OptionTable kOptions{
    option_string("keys_file")
        .required()
        .help(
            "File with the public keys of the issuers: a JSON web key set. Read again when it has changed."),
    option_string_list("issuers").required().help("Texts of which the claim 'iss' has to be one."),
    option_string_list("audiences").required().help("Texts of which the claim 'aud' has to have one."),
    option_string_map("permissions")
        .help(
            "What tokens permit: names 'CLAIM=VALUE', such as 'scope=infer' or 'groups=ml', or '*' for every token, each with permissions as in files of security/keys. A token has those of all its claims."),
    option_string_list("algorithms", {"RS256", "PS256", "ES256", "EdDSA"})
        .help("Signatures that count. Others than these four never do."),
    option_duration("clock_skew", "60s")
        .range("0s", "10m")
        .help("By which the issuers' clocks may differ from this one."),
    option_string("name_claim", "sub").help("Claim with the caller's name."),
    option_string("tenant_claim", "").help("Claim with the caller's tenant; empty: its name is its tenant."),
    option_int("remembered_tokens", 10000)
        .range(0, 1000000)
        .help("Tokens that were verified and need not be again; 0: each call has its token verified."),
    option_string("probes", "open")
        .choices("open|closed")
        .help("Whether calls that ask if the server lives or is ready need a token (closed), or not (open)."),
    option_duration("poll_interval", "500ms")
        .range("0s", "86400s")
        .help("Time between two looks whether the file has changed; 0: only SIGHUP has it read again."),
};

}  // namespace

ATOLL_PLUGIN(JwtPlugin, {.name = "security/jwt",
                         .version = "1.0.0",
                         .license = "Apache-2.0",
                         .help = "Knows callers by JSON web tokens, which an identity provider has signed.",
                         // Below security/keys, so that a manifest may have both without naming one.
                         .provides = {provide<Access>().minor(1).rank(-1)},
                         .options = kOptions,
                         .check = &check_settings});

}  // namespace atl::jwt
