#include "pools/leases/api/query.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <utility>

#include "atoll/core/utf8.h"
#include "atoll/lib/http_request.h"

namespace atl::pools {
namespace {

constexpr size_t kShownBytes = 64;

/// What a client wrote, for a message to it.
std::string shown(std::string_view text) { return replace_invalid_utf8(text.substr(0, kShownBytes)); }

}  // namespace

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string name = percent_decode(part.substr(0, equals));
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    if (!query.values_.emplace(name, percent_decode(value)).second)
      return invalid_argument("the query has '", shown(name), "' twice");
  }
  return query;
}

Status Query::allow(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : values_) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string expected;
    for (std::string_view one : names) expected += cat(expected.empty() ? ", expected '" : " or '", one, "'");
    return invalid_argument("the query has '", shown(name), "', which this call does not have", expected);
  }
  return {};
}

Result<bool> Query::flag(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return false;
  const auto is = [&](boost::beast::string_view text) { return boost::beast::iequals(found->second, text); };
  if (is("true") || is("1")) return true;
  if (is("false") || is("0")) return false;
  return invalid_argument("the query's '", name, "' is '", shown(found->second),
                          "', expected true, false, 1 or 0");
}

std::string Query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

}  // namespace atl::pools
