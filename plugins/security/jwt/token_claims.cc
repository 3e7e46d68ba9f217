#include "security/jwt/token_claims.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "security/jwt/json_object.h"

namespace atl::jwt {
namespace {

constexpr size_t kNameBytesMax = 256;
/// Beyond it a time is as good as for ever, and adding to it still fits.
constexpr double kTimeMax = 1e15;

bool is_listed(std::string_view text, const std::vector<std::string>& all) noexcept {
  return std::find(all.begin(), all.end(), text) != all.end();
}

/// A time in seconds, which may have a fraction. Nothing: it is none.
std::optional<int64_t> time_of(const CheckedValue& value) noexcept {
  if (!value.IsNumber()) return std::nullopt;
  const double seconds = value.GetDouble();
  if (!std::isfinite(seconds)) return std::nullopt;
  return static_cast<int64_t>(std::clamp(seconds, -kTimeMax, kTimeMax));
}

/// Every text of a claim that is one text or a list of texts; others are left out.
template <class Visit>
void for_each_text(const CheckedValue& value, Visit&& visit) {
  const auto one = [&](const CheckedValue& text) {
    if (text.IsString()) visit(std::string_view(text.GetString(), text.GetStringLength()));
  };
  if (!value.IsArray()) return one(value);
  for (const CheckedValue& each : value.GetArray()) one(each);
}

/// Scopes are words with spaces between (RFC 8693, section 4.2); other claims are whole texts.
bool has_value(const CheckedValue& claim, std::string_view name, std::string_view wanted) {
  const bool is_words = name == "scope" || name == "scp";
  bool found = false;
  for_each_text(claim, [&](std::string_view text) {
    while (is_words && !found && !text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      found = text.substr(0, end) == wanted && !wanted.empty();
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    found = found || (!is_words && text == wanted);
  });
  return found;
}

/// Providers write scopes as "scope" (RFC 8693) or as "scp": either name stands for both.
bool has_claim(const CheckedValue& claims, const std::string& name, std::string_view wanted) {
  const auto has = [&](const char* one) {
    const auto found = claims.FindMember(one);
    return found != claims.MemberEnd() && has_value(found->value, one, wanted);
  };
  if (name == "scope" || name == "scp") return has("scope") || has("scp");
  return has(name.c_str());
}

Status check_audience(const CheckedValue& claims, const std::vector<std::string>& audiences) {
  if (audiences.empty()) return {};
  bool is_meant = false;
  if (const auto found = claims.FindMember("aud"); found != claims.MemberEnd())
    for_each_text(found->value,
                  [&](std::string_view one) { is_meant = is_meant || is_listed(one, audiences); });
  return is_meant ? Status() : invalid_argument("its 'aud' is none of those that are expected");
}

/// The time of a claim. Errors: INVALID_ARGUMENT it is no number
Result<std::optional<int64_t>> read_time(const CheckedValue& claims, const char* name) {
  const auto found = claims.FindMember(name);
  if (found == claims.MemberEnd()) return std::optional<int64_t>();
  const auto time = time_of(found->value);
  if (!time) return invalid_argument("its '", name, "' is no number");
  return time;
}

/// Names get into logs and metrics.
Result<std::string> read_name(const CheckedValue& claims, const std::string& claim) {
  const auto name = text_member(claims, claim.c_str());
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!name || name->empty() || name->size() > kNameBytesMax ||
      std::any_of(name->begin(), name->end(), is_control))
    return invalid_argument("its '", claim, "' is no text of 1 to ", kNameBytesMax, " bytes");
  return std::string(*name);
}

}  // namespace

std::string claimed_issuer(std::string_view json) {
  CheckedDocument claims;
  return std::string(parse_object(json, claims) ? text_member(claims, "iss").value_or("") : "");
}

Result<TokenClaims> read_claims(std::string_view json, const ClaimSettings& settings, int64_t now_s) {
  CheckedDocument claims;
  if (!parse_object(json, claims)) return invalid_argument("its claims are no JSON object");
  if (!is_listed(text_member(claims, "iss").value_or(""), settings.issuers))
    return invalid_argument("its 'iss' is none of those that are expected");
  ATOLL_RETURN_IF_ERROR(check_audience(claims, settings.audiences));
  Result<std::optional<int64_t>> expires = read_time(claims, "exp"), begins = read_time(claims, "nbf");
  if (!expires.ok()) return std::move(expires).status();
  if (!begins.ok()) return std::move(begins).status();
  if (!*expires) return invalid_argument("it has no 'exp'");
  TokenClaims read;
  read.expires_s = **expires + settings.skew_s;
  if (now_s >= read.expires_s) return invalid_argument("it has expired");
  if (*begins && now_s < **begins - settings.skew_s) return invalid_argument("it is not to be used yet");
  Result<std::string> name = read_name(claims, settings.name_claim);
  if (!name.ok()) return std::move(name).status();
  Result<std::string> tenant =
      settings.tenant_claim.empty() ? *name : read_name(claims, settings.tenant_claim);
  if (!tenant.ok()) return std::move(tenant).status();
  read.name = std::move(name).value();
  read.tenant = std::move(tenant).value();
  for (size_t i = 0; i < settings.granting.size(); ++i) {
    const auto& [claim, value] = settings.granting[i];
    if (has_claim(claims, claim, value)) read.granted.push_back(i);
  }
  return read;
}

}  // namespace atl::jwt
