#include "security/mtls/trusted_peers.h"

#include <gtest/gtest.h>

namespace atl::mtls {
namespace {

TrustedPeers peers_of(std::initializer_list<const char*> texts) {
  TrustedPeers peers;
  for (const char* text : texts) {
    const Status added = peers.add(text);
    EXPECT_TRUE(added.ok()) << added.text();
  }
  return peers;
}

TEST(TrustedPeers, AddressesAndNetworks) {
  const TrustedPeers peers = peers_of({"192.0.2.1", "10.1.0.0/20", "2001:db8::/33", "::1"});
  for (const char* in : {"ipv4:192.0.2.1:1", "ipv4:10.1.15.255:65535", "ipv6:[2001:db8:7fff::1]:80",
                         "ipv6:[::1]:4711", "ipv6:%5B::1%5D:4711", "ipv6:[::ffff:192.0.2.1]:5"})
    EXPECT_TRUE(peers.has(in)) << in;
  for (const char* out :
       {"ipv4:192.0.2.2:1", "ipv4:10.1.16.0:1", "ipv6:[2001:db8:8000::1]:80", "ipv6:[::2]:1",
        "ipv4:192.0.2.1", "192.0.2.1:1", "unknown", "", "ipv6:[::1:4711", "unix:/x:1"})
    EXPECT_FALSE(peers.has(out)) << out;
}

TEST(TrustedPeers, NobodyIsTrustedUnlessSaid) { EXPECT_FALSE(peers_of({}).has("ipv4:127.0.0.1:1")); }

TEST(TrustedPeers, AWholeFamily) {
  const TrustedPeers peers = peers_of({"0.0.0.0/0"});
  EXPECT_TRUE(peers.has("ipv4:198.51.100.7:1"));
  EXPECT_FALSE(peers.has("ipv6:[2001:db8::1]:1"));
}

TEST(TrustedPeers, WhatIsNoAddressIsRefused) {
  for (const char* text : {"", "proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "10.0.0.0/-1",
                           "10.0.0.1/8", "1.2.3", "::/129", "2001:db8::1/32", "/8"}) {
    TrustedPeers peers;
    EXPECT_FALSE(peers.add(text).ok()) << text;
    EXPECT_TRUE(peers.empty());
  }
}

}  // namespace
}  // namespace atl::mtls
