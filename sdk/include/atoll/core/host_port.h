/// "host:port" as options and messages have it.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "atoll/core/text.h"

namespace atl {

/// "host:port", with brackets where the host is an IPv6 address. \param port  a number, or its text [any]
template <class Port>
std::string host_port_text(std::string_view host, const Port& port) {
  return host.find(':') == std::string_view::npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

struct HostPort {
  std::string host;   ///< a name or an address, without brackets
  uint16_t port = 0;  ///< 0 where the reader of it allows it: the system chooses a free one

  /// Reads "host:port", "1.2.3.4:port" or "[ipv6]:port". \returns nothing for any other text. [any]
  static std::optional<HostPort> parse(std::string_view text) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    if (host.front() == '[') {
      if (host.back() != ']' || host.size() < 3) return std::nullopt;
      host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
      return std::nullopt;
    }
    HostPort read;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, read.port);
    if (error != std::errc() || end != last) return std::nullopt;
    read.host = host;
    return read;
  }

  /// The text that parse() reads.
  std::string text() const { return host_port_text(host, port); }
};

}  // namespace atl
