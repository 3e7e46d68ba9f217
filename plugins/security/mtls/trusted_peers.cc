#include "security/mtls/trusted_peers.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace atl::mtls {
namespace {

constexpr uint32_t kMappedBits = 96;  // before an IPv4 address that is mapped
constexpr uint32_t kAllBits = 128;

/// The address in "ipv4:192.0.2.1:50000", "ipv6:[2001:db8::1]:50000"; gRPC's own library writes "%5B" and "%5D" for the
/// brackets. Empty: it has another form.
std::string_view address_of(std::string_view peer) noexcept {
  const size_t port = peer.rfind(':');
  if (port == std::string_view::npos) return {};
  peer = peer.substr(0, port);
  if (peer.starts_with("ipv4:")) return peer.substr(5);
  for (const auto& [open, close] : {std::pair("ipv6:[", "]"), std::pair("ipv6:%5B", "%5D")}) {
    const std::string_view before(open), behind(close);
    if (!peer.starts_with(before) || !peer.ends_with(behind)) continue;
    return peer.substr(before.size(), peer.size() - before.size() - behind.size());
  }
  return {};
}

}  // namespace

bool TrustedPeers::read(std::string_view text, Address* address, bool* is_v4) noexcept {
  char name[INET6_ADDRSTRLEN] = {};
  if (text.empty() || text.size() >= sizeof name || text.find('\0') != std::string_view::npos) return false;
  std::memcpy(name, text.data(), text.size());
  *is_v4 = text.find(':') == std::string_view::npos;
  if (!*is_v4) return ::inet_pton(AF_INET6, name, address->data()) == 1;
  *address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
  return ::inet_pton(AF_INET, name, address->data() + kMappedBits / 8) == 1;
}

bool TrustedPeers::is_in(const Address& address, const Network& network) noexcept {
  for (uint32_t bit = 0; bit < network.bits; bit += 8) {
    const uint32_t left = network.bits - bit;
    const auto mask = static_cast<uint8_t>(left >= 8 ? 0xFF : 0xFF << (8 - left));
    if (((address[bit / 8] ^ network.address[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Status TrustedPeers::add(std::string_view text) noexcept {
  const size_t slash = text.find('/');
  Network network{};
  bool is_v4 = false;
  bool is_right = read(text.substr(0, slash), &network.address, &is_v4);
  const uint32_t before = is_v4 ? kMappedBits : 0;
  network.bits = kAllBits;
  if (is_right && slash != std::string_view::npos) {
    const std::string_view bits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), network.bits);
    is_right = error == std::errc() && end == bits.data() + bits.size() && network.bits <= kAllBits - before;
    network.bits += before;
  }
  if (!is_right)
    return invalid_argument("found '", text,
                            "', expected an address as '192.0.2.1' or a network as '10.0.0.0/8'");
  Address rest = network.address;
  for (uint32_t bit = 0; bit < network.bits; ++bit)
    rest[bit / 8] &= static_cast<uint8_t>(~(0x80u >> bit % 8));
  if (std::any_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte != 0; }))
    return invalid_argument("found '", text, "', which is an address in that network and not the network");
  networks_.push_back(network);
  return {};
}

bool TrustedPeers::has(std::string_view peer) const noexcept {
  Address address;
  bool is_v4 = false;
  return !networks_.empty() && read(address_of(peer), &address, &is_v4) &&
         std::any_of(networks_.begin(), networks_.end(),
                     [&](const Network& network) { return is_in(address, network); });
}

}  // namespace atl::mtls
