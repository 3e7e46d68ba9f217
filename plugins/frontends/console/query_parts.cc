#include "frontends/console/query_parts.h"

#include <algorithm>
#include <charconv>

#include "atoll/core/text.h"
#include "atoll/lib/http_request.h"

namespace atl::frontends::console {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool contains_text(std::string_view text, std::string_view part) noexcept {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

std::vector<std::pair<std::string, std::string>> query_parts(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parts;
  while (!query.empty()) {
    const auto end = static_cast<size_t>(std::find(query.begin(), query.end(), '&') - query.begin());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (part.empty()) continue;
    const auto equals = static_cast<size_t>(std::find(part.begin(), part.end(), '=') - part.begin());
    const std::string_view value = equals == part.size() ? std::string_view() : part.substr(equals + 1);
    parts.emplace_back(part.substr(0, equals), percent_decode(value));
  }
  return parts;
}

Status read_number(std::string_view name, const std::string& value, uint64_t* number) {
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, *number);
  if (error == std::errc() && stop == end) return {};
  return invalid_argument("found the ", name, " '", value, "', expected a number");
}

}  // namespace atl::frontends::console
