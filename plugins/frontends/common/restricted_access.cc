#include "common/restricted_access.h"

#include <algorithm>

namespace atl::frontends {
namespace {

constexpr std::string_view kNames[kApiCategoryCount] = {"health",        "metadata",     "inference",
                                                        "shared-memory", "model-config", "model-repository",
                                                        "statistics",    "trace",        "logging"};

constexpr size_t kMostCategoryBytes = 64;

/// Reads every byte of what was presented, whatever the first ones are.
bool equal_in_constant_time(std::string_view expected, std::string_view presented) noexcept {
  unsigned difference = expected.size() == presented.size() ? 0 : 1;
  for (size_t i = 0; i < presented.size(); ++i) {
    const char other = expected.empty() ? '\0' : expected[i % expected.size()];
    difference |= static_cast<unsigned char>(presented[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

/// What of an entry may be shown: not what could be the secret.
std::string without_value(std::string_view entry) {
  size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return std::string(entry);
  return cat(entry.substr(0, equals), "=...");
}

Status wrong_form(std::string_view word, std::string_view entry) noexcept {
  return invalid_argument("restricted ", word, " format is '<category>,<category>:<key>=<value>'. Got ",
                          without_value(entry));
}

}  // namespace

std::string_view api_category_name(ApiCategory category) noexcept {
  return kNames[static_cast<uint32_t>(category)];
}

bool is_own_category(std::string_view name) noexcept {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0 || name.back() == '.') return false;
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '.', '-');
  if (std::find(std::begin(kNames), std::end(kNames), dashed) != std::end(kNames)) return false;
  return name.size() <= kMostCategoryBytes && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
         });
}

Result<RestrictedAccess> RestrictedAccess::parse(const std::vector<std::string>& entries,
                                                 std::string_view word, bool takes_own) noexcept {
  RestrictedAccess access;
  for (std::string_view entry : entries) {
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0) return wrong_form(word, entry);
    const size_t equals = entry.find('=', colon);
    if (equals == std::string_view::npos || equals == colon + 1 || equals + 1 == entry.size()) {
      return wrong_form(word, entry);
    }
    const std::string_view key = entry.substr(colon + 1, equals - colon - 1);
    std::string_view categories = entry.substr(0, colon);
    while (true) {
      const size_t comma = categories.find(',');
      const std::string_view name = categories.substr(0, comma);
      const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
      const bool is_own = takes_own && is_own_category(name);
      if (found == std::end(kNames) && !is_own) {
        return invalid_argument("unknown restricted ", word, " '", name, "' ");
      }
      Group& group = is_own ? access.own_groups_[std::string(name)]
                            : access.groups_[static_cast<size_t>(found - std::begin(kNames))];
      if (!group.key.empty()) {
        return invalid_argument("restricted ", word, " '", name,
                                "' can not be specified in multiple config groups");
      }
      group.key = key;
      group.value = entry.substr(equals + 1);
      if (comma == std::string_view::npos) break;
      categories.remove_prefix(comma + 1);
    }
  }
  return access;
}

bool RestrictedAccess::allows(ApiCategory category,
                              std::span<const std::string_view> presented) const noexcept {
  return allows(groups_[static_cast<uint32_t>(category)], presented);
}

bool RestrictedAccess::allows(std::string_view own_category,
                              std::span<const std::string_view> presented) const noexcept {
  const auto group = own_groups_.find(own_category);
  return group == own_groups_.end() || allows(group->second, presented);
}

bool RestrictedAccess::allows(const Group& group, std::span<const std::string_view> presented) noexcept {
  if (group.key.empty()) return true;
  return presented.size() == 1 && equal_in_constant_time(group.value, presented[0]);
}

}  // namespace atl::frontends
