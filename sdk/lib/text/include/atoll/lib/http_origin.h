/// The headers `Origin` and `Host` of requests that pages make.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>

#include <algorithm>
#include <string>
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

/// "localhost" of "localhost:8000", "::1" of "[::1]:8000"; empty: it is neither. \param header  the value of `Host`
inline std::string_view host_without_port(std::string_view header) noexcept {
  std::string_view rest;
  std::string_view host;
  if (header.starts_with('[')) {
    const size_t end = header.find(']');
    if (end == std::string_view::npos) return {};
    host = header.substr(1, end - 1);
    rest = header.substr(end + 1);
  } else {
    const size_t colon = std::min(header.find(':'), header.size());
    host = header.substr(0, colon);
    rest = header.substr(colon);
  }
  if (rest.empty()) return host;
  const bool is_port = rest.front() == ':' && rest.size() > 1 && rest.size() <= 6 &&
                       rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_port ? host : std::string_view();
}

/// Whether no name server decides what the host is: it is an address or "localhost". A page of a site whose name was made to
/// point to this machine (DNS rebinding) has the site's name there. \param host  as host_without_port() gives it
inline bool is_localhost_or_address(std::string_view host) noexcept {
  constexpr std::string_view kLocalhost = "localhost";
  if (host.size() == kLocalhost.size() && ::strncasecmp(host.data(), kLocalhost.data(), host.size()) == 0)
    return true;
  char text[INET6_ADDRSTRLEN] = {};
  if (host.empty() || host.size() >= sizeof text) return false;
  host.copy(text, host.size());
  in6_addr address;
  return ::inet_pton(AF_INET, text, &address) == 1 || ::inet_pton(AF_INET6, text, &address) == 1;
}

/// Whether a socket that is bound to the host serves this machine alone. \param host  a name or an address, without brackets
inline bool is_loopback_host(std::string_view host) noexcept {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_localhost_or_address(host));
}

}  // namespace atl
