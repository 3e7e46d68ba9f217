/// The header `Origin` of requests that pages make.
#pragma once

#include <strings.h>

#include <string_view>

namespace atl {

/// Whether a page of the very host and port that the request went to has sent it.
/// \param origin  the value of `Origin`: "http://localhost:8000" \param host  of `Host`
inline bool is_origin_of(std::string_view origin, std::string_view host) noexcept {
  std::string_view rest = origin;
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (origin.starts_with(scheme)) rest = origin.substr(scheme.size());
  }
  return rest.size() != origin.size() && rest.size() == host.size() &&
         ::strncasecmp(rest.data(), host.data(), host.size()) == 0;
}

}  // namespace atl
