#include "security/jwt/jwt_source.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "atoll/core/guarded.h"
#include "security/common/bearer_token.h"
#include "security/common/identity_file.h"

namespace atl::jwt {
namespace {

/// Stands for every valid token among the names of the option `permissions`.
constexpr std::string_view kEveryToken = "*";

class JwtIdentity final : public Identity {
 public:
  JwtIdentity(std::shared_ptr<const VerifiedToken> token, std::shared_ptr<const JwtSettings> settings,
              Clock& clock)
      : token_(std::move(token)), settings_(std::move(settings)), clock_(clock) {}
  ~JwtIdentity() override = default;

  std::string_view name() const noexcept override { return token_->claims.name; }
  std::string_view tenant() const noexcept override { return token_->claims.tenant; }
  bool may(ApiCategory, std::string_view category, std::string_view model) const noexcept override {
    return any([&](const Permissions& one) { return one.may(category, model); });
  }
  bool may_all(ApiCategory, std::string_view category) const noexcept override {
    return any([&](const Permissions& one) { return one.may_all(category); });
  }
  bool holds() const noexcept override { return token_->holds(clock_.wall_ns() / kNsPerSecond); }

 private:
  template <class Test>
  bool any(Test&& test) const noexcept {
    const auto& granted = token_->claims.granted;
    return (settings_->for_all && test(*settings_->for_all)) ||
           std::any_of(granted.begin(), granted.end(),
                       [&](size_t i) { return test(settings_->permissions[i]); });
  }

  const std::shared_ptr<const VerifiedToken> token_;
  const std::shared_ptr<const JwtSettings> settings_;
  Clock& clock_;
};

Result<std::vector<Algorithm>> read_algorithms(const std::vector<std::string>& names) {
  std::vector<Algorithm> all;
  for (const std::string& name : names) {
    const auto algorithm = algorithm_of(name);
    if (!algorithm)
      return invalid_argument("option 'algorithms' has '", name, "', expected RS256, PS256, ES256 or EdDSA");
    all.push_back(*algorithm);
  }
  if (all.empty()) return invalid_argument("option 'algorithms' is empty: no token could be verified");
  return all;
}

/// Names are "CLAIM=VALUE", or "*" for every token.
Status read_permission(const std::string& name, const std::string& text, JwtSettings& settings) {
  const size_t equals = name.find('=');
  if (name != kEveryToken && (equals == 0 || equals == std::string::npos || equals + 1 == name.size()))
    return invalid_argument("found the name '", name, "', expected 'CLAIM=VALUE' or '*'");
  Result<Permissions> permissions = Permissions::parse(text);
  if (!permissions.ok()) return std::move(permissions).status();
  if (name == kEveryToken) {
    settings.for_all = std::move(permissions).value();
    return {};
  }
  settings.verifier.claims.granting.emplace_back(name.substr(0, equals), name.substr(equals + 1));
  settings.permissions.push_back(std::move(permissions).value());
  return {};
}

/// Errors: INVALID_ARGUMENT the first entry that is wrong.
Status read_permissions(const std::map<std::string, std::string>& entries, JwtSettings& settings) {
  for (const auto& [name, text] : entries) {
    if (Status status = read_permission(name, text, settings); !status.ok())
      return invalid_argument("option 'permissions', '", name, "': ", status.message());
  }
  return {};
}

Status need_one(const std::vector<std::string>& values, const char* option, const char* why) {
  const bool is_one =
      !values.empty() && std::none_of(values.begin(), values.end(), [](const auto& v) { return v.empty(); });
  return is_one ? Status() : invalid_argument("option '", option, "' needs at least one text: ", why);
}

Result<VerificationKeySet> read_keys(const std::string& path) {
  Result<std::string> text =
      security::read_identity_file({path, "key set", kKeySetBytesMax, /*is_private=*/false});
  if (!text.ok()) return std::move(text).status();
  Result<VerificationKeySet> set = parse_key_set(*text);
  if (!set.ok()) return invalid_argument("'", path, "': ", set.status().message());
  return set;
}

}  // namespace

Result<JwtSettings> read_settings(const Options& options) {
  JwtSettings settings;
  settings.file = options.get_string("keys_file");
  settings.opens_probes = options.get_string("probes") == "open";
  settings.poll_interval_ns = options.get_duration_ns("poll_interval");
  ClaimSettings& claims = settings.verifier.claims;
  claims.issuers = options.get_strings("issuers");
  claims.audiences = options.get_strings("audiences");
  claims.skew_s = options.get_duration_ns("clock_skew") / kNsPerSecond;
  claims.name_claim = options.get_string("name_claim");
  claims.tenant_claim = options.get_string("tenant_claim");
  settings.verifier.remembered_max = static_cast<size_t>(options.get_int("remembered_tokens"));
  ATOLL_RETURN_IF_ERROR(need_one(claims.issuers, "issuers", "those whose tokens count"));
  ATOLL_RETURN_IF_ERROR(
      need_one(claims.audiences, "audiences", "tokens for other services must not count here"));
  if (claims.name_claim.empty()) return invalid_argument("option 'name_claim' is empty");
  ATOLL_RETURN_IF_ERROR(read_permissions(options.get_map("permissions"), settings));
  Result<std::vector<Algorithm>> algorithms = read_algorithms(options.get_strings("algorithms"));
  if (!algorithms.ok()) return std::move(algorithms).status();
  settings.verifier.algorithms = std::move(algorithms).value();
  return settings;
}

void check_settings(OptionCheck& check) {
  const Options& options = check.options();
  JwtSettings unused;
  check.passes("issuers", need_one(options.get_strings("issuers"), "issuers", "those whose tokens count"));
  check.passes("audiences", need_one(options.get_strings("audiences"), "audiences",
                                     "tokens for other services must not count here"));
  if (options.get_string("name_claim").empty())
    check.passes("name_claim", invalid_argument("option 'name_claim' is empty"));
  for (const auto& [name, text] : options.get_map("permissions")) {
    if (Status status = read_permission(name, text, unused); !status.ok())
      check.report("permissions", name, cat("'", name, "': ", status.message()));
  }
  check.passes("algorithms", read_algorithms(options.get_strings("algorithms")));
  check.passes("keys_file", read_keys(options.get_string("keys_file")));
}

JwtSource::JwtSource(Host& host, JwtSettings settings)
    : host_(host),
      settings_(std::make_shared<const JwtSettings>(std::move(settings))),
      verifier_(settings_->verifier, host.clock()),
      watch_(host, {settings_->file}, settings_->poll_interval_ns, [this] {
        if (Status status = read(); !status.ok())
          host_.log().error("the keys are not taken, those read before go on: ", status.message());
      }) {}

Status JwtSource::start() {
  // Before the file is read: what changes meanwhile is seen by the next look.
  ATOLL_RETURN_IF_ERROR(watch_.start("jwt-keys"));
  return read();
}

Status JwtSource::read() {
  return guarded("reading the keys", [&]() -> Status {
    Result<VerificationKeySet> set = read_keys(settings_->file);
    if (!set.ok()) return std::move(set).status();
    for (const std::string& unused : set->unused) host_.log().warning("'", settings_->file, "': ", unused);
    host_.log().info("the key set '", settings_->file, "' was read: ", set->keys.size(), " keys");
    verifier_.set_keys(std::move(set->keys));
    return {};
  });
}

Result<IdentityOutcome> JwtSource::identify(const AccessQuestion& question,
                                            std::shared_ptr<const Identity>* identity) noexcept {
  if (question.is_probe && settings_->opens_probes) return IdentityOutcome::kOpen;
  std::array<std::string_view, 1> headers;
  const size_t count = question.head.find("authorization", headers);
  if (count > 1) return make_status(Code::kUnauthenticated, "several credentials");
  const std::string_view token = count == 0 ? std::string_view() : security::bearer_token(headers[0]);
  if (!looks_like_token(token)) return IdentityOutcome::kNotMine;
  return guarded("verifying a token", [&]() -> Result<IdentityOutcome> {
    Result<std::shared_ptr<const VerifiedToken>> verified = verifier_.verify(token);
    if (verified.ok()) {
      *identity = std::make_shared<const JwtIdentity>(std::move(verified).value(), settings_, host_.clock());
      return IdentityOutcome::kKnown;
    }
    // Another instance may know issuers that this one does not.
    if (!verifier_.is_mine(token)) return IdentityOutcome::kNotMine;
    return make_status(Code::kUnauthenticated, verified.status().message());
  });
}

}  // namespace atl::jwt
