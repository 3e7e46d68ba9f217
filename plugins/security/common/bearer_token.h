/// Tokens in `Authorization: Bearer TOKEN` (RFC 6750).
#pragma once

#include <strings.h>

#include <string_view>

namespace atl::security {

/// \param header  the value of `Authorization`
/// \returns what is behind "Bearer", of which case does not count; empty: it is another scheme
inline std::string_view bearer_token(std::string_view header) noexcept {
  constexpr std::string_view kScheme = "Bearer ";
  if (header.size() < kScheme.size() || ::strncasecmp(header.data(), kScheme.data(), kScheme.size()) != 0)
    return {};
  header.remove_prefix(kScheme.size());
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  while (!header.empty() && header.back() == ' ') header.remove_suffix(1);
  return header;
}

}  // namespace atl::security
