#include "atoll/lib/key_line.h"

#include <algorithm>
#include <iterator>

#include "atoll/lib/rfc3339.h"

namespace atl {
namespace {

constexpr size_t kMostIdBytes = 64;
/// Stand for every category of plugins that begins with the word and a dot.
constexpr std::string_view kGroups[] = {"openai", "tfserving", "console", "pools"};

bool is_group(std::string_view word) noexcept {
  return std::ranges::find(kGroups, word) != std::end(kGroups);
}

bool is_category(std::string_view word) noexcept {
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    if (word == api_category_name(static_cast<ApiCategory>(i))) return true;
  }
  return word == kModelRepositoryFiles || is_own_category(word);
}

/// Calls of these categories are about no model.
bool is_about_server(std::string_view category) noexcept {
  constexpr std::string_view kNames[] = {"shared-memory", "logging", "metrics", "pools.pool"};
  return std::ranges::find(kNames, category) != std::end(kNames);
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool read_digest(std::string_view text, Sha256* digest) noexcept {
  if (text.size() != 2 * digest->size()) return false;
  for (size_t i = 0; i < digest->size(); ++i) {
    const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    (*digest)[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

Status read_more(std::string_view text, KeyLine* line) noexcept {
  while (!text.empty()) {
    const size_t end = text.find(';');
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (one.starts_with("tenant=") && one.size() > 7 && line->tenant.empty()) {
      line->tenant = one.substr(7);
    } else if (one.starts_with("expires=") && !line->expires_s) {
      line->expires_s = read_rfc3339(one.substr(8));
      line->expires_text = one.substr(8);
      if (!line->expires_s) {
        return invalid_argument("found '", one, "', expected a time as 'expires=2027-01-31T00:00:00Z'");
      }
    } else {
      return invalid_argument("found '", one,
                              "' in the fourth field, expected 'tenant=NAME' and 'expires=TIME'");
    }
  }
  return {};
}

}  // namespace

// Goes back to the last star only.
bool matches_pattern(std::string_view pattern, std::string_view text) noexcept {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_key_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMostIdBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool Permissions::Permission::is_for(std::string_view name) const noexcept {
  if (!is_group) return name == category;
  return name.size() > category.size() && name[category.size()] == '.' && name.starts_with(category);
}

Result<Permissions> Permissions::parse(std::string_view text) noexcept {
  Permissions all;
  if (text == "*") {
    all.is_all_ = true;
    return all;
  }
  if (text.empty()) return invalid_argument("found no permission, expected '*' or categories");
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const size_t at = one.find('@');
    const std::string_view category = one.substr(0, at);
    if (!is_category(category) && !is_group(category))
      return invalid_argument("unknown category '", category, "'");
    Permission permission{std::string(category), {}, is_group(category)};
    if (at != std::string_view::npos) {
      permission.pattern = one.substr(at + 1);
      if (permission.pattern.empty())
        return invalid_argument("found no pattern of models behind '", one, "'");
      if (is_about_server(category) && permission.pattern != "*")
        return invalid_argument("found '", one, "', but '", category,
                                "' is about the whole server: a pattern of models would give nothing");
    }
    all.list_.push_back(std::move(permission));
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
  }
}

bool Permissions::may(std::string_view category, std::string_view model) const noexcept {
  return is_all_ || std::ranges::any_of(list_, [&](const Permission& one) {
           return one.is_for(category) &&
                  (model.empty() || one.pattern.empty() || matches_pattern(one.pattern, model));
         });
}

bool Permissions::may_all(std::string_view category) const noexcept {
  return is_all_ || std::ranges::any_of(list_, [&](const Permission& one) {
           return one.is_for(category) && (one.pattern.empty() || one.pattern == "*");
         });
}

Result<KeyLine> parse_key_line(std::string_view text) noexcept {
  KeyLine line;
  std::array<std::string_view, 4> fields;
  size_t count = 0;
  for (std::string_view rest = text; count < fields.size(); ++count) {
    // The last field may have colons, as times have.
    const size_t colon = count + 1 == fields.size() ? std::string_view::npos : rest.find(':');
    fields[count] = rest.substr(0, colon);
    if (colon == std::string_view::npos) {
      ++count;
      break;
    }
    rest.remove_prefix(colon + 1);
  }
  if (count < 3) return invalid_argument("found too few fields, expected 'id:SHA-256:permissions'");
  if (!is_key_id(fields[0])) {
    return invalid_argument("the id is not of 1 to 64 lower-case letters, digits and '-'");
  }
  line.id = fields[0];
  if (!read_digest(fields[1], &line.digest)) {
    return invalid_argument("the second field is no SHA-256, which has 64 hexadecimal digits");
  }
  Result<Permissions> permissions = Permissions::parse(fields[2]);
  if (!permissions.ok()) return std::move(permissions).status();
  line.permissions = std::move(permissions).value();
  line.permissions_text = fields[2];
  ATOLL_RETURN_IF_ERROR(read_more(fields[3], &line));
  return line;
}

}  // namespace atl
