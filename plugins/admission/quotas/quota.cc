#include "admission/quotas/quota.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace atl::quotas {
namespace {

constexpr uint64_t kWeightMax = 1000;
constexpr uint64_t kCountMax = 1'000'000'000;
constexpr double kRateMax = 1e9;

struct Field {
  std::string_view option;
  std::string_view entry;
  std::string_view key;
  std::string_view value;

  Status wrong(std::string_view expected) const {
    return invalid_argument("option '", option, "' has '", entry, "', where '", key, "' is '", value,
                            "', expected ", expected);
  }
};

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status read_count(const Field& field, uint64_t low, uint64_t high, uint64_t* to) {
  std::optional<uint64_t> value = number<uint64_t>(field.value);
  if (!value || *value < low || *value > high) {
    return field.wrong(cat("a whole number from ", low, " to ", high));
  }
  *to = *value;
  return {};
}

/// \param amount  set to what comes in the unit of the rate
Status read_rate(const Field& field, double* to, double* amount) {
  const size_t slash = field.value.find('/');
  const std::string_view unit = slash == std::string_view::npos ? "" : field.value.substr(slash + 1);
  const double seconds = unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  std::optional<double> value = number<double>(field.value.substr(0, slash));
  // What is not a number compares as false.
  if (seconds == 0 || !value || !(*value > 0 && *value / seconds <= kRateMax)) {
    return field.wrong("a rate above 0 such as 100/s, 5/min or 2.5/h, at most 1000000000/s");
  }
  *to = *value / seconds;
  *amount = *value;
  return {};
}

/// What is read before it is complete.
struct QuotaParts {
  Quota quota;
  std::optional<uint64_t> burst, token_burst;
  double tokens_amount = 0;  ///< that come in the unit of their rate
};

Status read_field(const Field& field, QuotaParts* parts) {
  Quota* const quota = &parts->quota;
  uint64_t count = 0;
  if (field.key == "weight") {
    ATOLL_RETURN_IF_ERROR(read_count(field, 1, kWeightMax, &count));
    quota->weight = static_cast<uint32_t>(count);
    return {};
  }
  if (field.key == "concurrency") return read_count(field, 1, kCountMax, &quota->concurrency);
  if (field.key == "queue") return read_count(field, 0, kCountMax, &quota->queue);
  double amount = 0;
  if (field.key == "rate") return read_rate(field, &quota->rate, &amount);
  if (field.key == "tokens") return read_rate(field, &quota->tokens, &parts->tokens_amount);
  if (field.key != "burst" && field.key != "token_burst") {
    return invalid_argument("option '", field.option, "' has '", field.entry, "', where '", field.key,
                            "' is no part of a quota, expected weight, concurrency, rate, burst, tokens, "
                            "token_burst or queue");
  }
  ATOLL_RETURN_IF_ERROR(read_count(field, 1, kCountMax, &count));
  (field.key == "burst" ? parts->burst : parts->token_burst) = count;
  return {};
}

/// Bursts belong to rates, and have values of their own where none is given.
Status complete(std::string_view option, std::string_view text, QuotaParts& parts) {
  Quota& quota = parts.quota;
  if (parts.burst && quota.rate == 0) {
    return invalid_argument("option '", option, "' has '", text,
                            "', with a burst and no rate, expected both");
  }
  if (parts.token_burst && quota.tokens == 0) {
    return invalid_argument("option '", option, "' has '", text,
                            "', with a token_burst and no tokens, expected both");
  }
  if (quota.rate != 0) {
    quota.burst = parts.burst ? static_cast<double>(*parts.burst) : std::max(1.0, quota.rate);
  }
  if (quota.tokens != 0) {
    quota.token_burst =
        parts.token_burst ? static_cast<double>(*parts.token_burst) : std::max(1.0, parts.tokens_amount);
  }
  return {};
}

}  // namespace

bool is_tenant_name(std::string_view name) noexcept {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '@' || c == '/';
  };
  return !name.empty() && name.size() <= kTenantNameBytesMax &&
         std::all_of(name.begin(), name.end(), is_good);
}

Result<Quota> parse_quota(std::string_view option, std::string_view text) {
  QuotaParts parts;
  std::set<std::string_view> seen;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || (comma != std::string_view::npos && rest.empty())) {
      return invalid_argument("option '", option, "' has '", text,
                              "', expected a quota such as 'weight=2,concurrency=8,rate=100/s,burst=20'");
    }
    const Field field{option, text, part.substr(0, equals), part.substr(equals + 1)};
    if (!seen.insert(field.key).second) {
      return invalid_argument("option '", option, "' has '", text, "', where '", field.key,
                              "' comes twice, expected it once");
    }
    ATOLL_RETURN_IF_ERROR(read_field(field, &parts));
  }
  ATOLL_RETURN_IF_ERROR(complete(option, text, parts));
  return parts.quota;
}

Result<std::vector<TenantQuota>> parse_tenants(const std::vector<std::string>& entries) {
  std::vector<TenantQuota> tenants;
  std::set<std::string_view> names;
  for (std::string_view entry : entries) {
    const size_t colon = entry.find(':');
    const std::string_view name = entry.substr(0, colon);
    if (colon == std::string_view::npos || !is_tenant_name(name)) {
      return invalid_argument("option 'tenants' has '", entry, "', expected NAME:QUOTA with a name of 1 to ",
                              kTenantNameBytesMax, " letters, digits, '-', '_', '.', '@', '/'");
    }
    if (name == kDefaultTenant || name == kOtherTenants) {
      return invalid_argument("option 'tenants' names '", name,
                              "', which stands for those that are not named; see option 'default_tenant'");
    }
    if (!names.insert(name).second) {
      return invalid_argument("option 'tenants' names '", name, "' twice, expected it once");
    }
    Result<Quota> quota = parse_quota("tenants", entry.substr(colon + 1));
    if (!quota.ok()) return std::move(quota).status().note(cat("tenant '", name, "'"));
    tenants.push_back({std::string(name), quota.value()});
  }
  return tenants;
}

}  // namespace atl::quotas
