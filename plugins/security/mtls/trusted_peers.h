/// Addresses whose word counts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::mtls {

/// Read-only after parse(). [any]
class TrustedPeers {
 public:
  /// \param text  an address, "192.0.2.1" or "2001:db8::1", or a network, "10.0.0.0/8"
  /// Errors: INVALID_ARGUMENT it is neither; bits behind the network's are set.
  Status add(std::string_view text) noexcept;
  /// \param peer  as CallHead::peer()
  bool has(std::string_view peer) const noexcept;
  bool empty() const noexcept { return networks_.empty(); }

 private:
  static constexpr size_t kBytes = 16;
  /// IPv4 as IPv6 maps it (RFC 4291, 2.5.5.2), which is also how a socket for both says it.
  using Address = std::array<uint8_t, kBytes>;
  struct Network {
    Address address;
    uint32_t bits;
  };
  static bool read(std::string_view text, Address* address, bool* is_v4) noexcept;
  static bool is_in(const Address& address, const Network& network) noexcept;

  std::vector<Network> networks_;
};

}  // namespace atl::mtls
