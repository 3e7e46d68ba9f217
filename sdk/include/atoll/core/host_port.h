/// "host:port", as options, command lines and messages have it.
///
///     std::optional<HostPort> address = HostPort::parse(options.get_string("address"));  // "[::1]:8001"
///     if (!address) return invalid_argument("found '", text, "', expected host:port");
///     connect(address->host, address->port);                                             // "::1", 8001
///
/// An option for an address to listen at says listens() (option_table.h); the kernel then checks
/// its form. For an address of somebody else, the plugin's check calls parse().
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "atoll/core/text.h"

namespace atl {

/// Writes "host:port", with brackets around a host that has a colon, as IPv6 addresses do. [any]
/// \param host  a name or an address, without brackets
/// \param port  a number, or its text
template <class Port>
std::string host_port_text(std::string_view host, const Port& port) {
  return host.find(':') == std::string_view::npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

/// The two parts of an address of TCP. Names are not looked up here.
struct HostPort {
  /// A name or an address, without brackets: "localhost", "127.0.0.1", "::1".
  std::string host;
  /// A TCP port. 0 means, where the reader of the address allows it, that the system chooses a free
  /// port.
  uint16_t port = 0;

  /// Reads "host:port", "1.2.3.4:port" or "[ipv6]:port". The port is a number of 0 to 65535, and
  /// has to be there.
  /// \returns nothing for any other text: a host of no characters, an IPv6 address without
  /// brackets, a missing port. Whether the host can be found is not asked. [any]
  static std::optional<HostPort> parse(std::string_view text) {
    // The last colon is the one before the port, in an IPv6 address too.
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    // "[::1]": at least one character between the brackets. What is inside is not looked at here.
    if (host.front() == '[') {
      if (host.back() != ']' || host.size() < 3) return std::nullopt;
      host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
      return std::nullopt;
    }
    HostPort read;
    // from_chars refuses a sign and a number above 65535; the port has to end where the text does.
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, read.port);
    if (error != std::errc() || end != last) return std::nullopt;
    // Without brackets, as functions of the system want it.
    read.host = host;
    return read;
  }

  /// The text that parse() reads, with brackets where they are needed.
  std::string text() const { return host_port_text(host, port); }
};

}  // namespace atl
