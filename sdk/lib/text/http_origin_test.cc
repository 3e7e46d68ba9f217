#include "atoll/lib/http_origin.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(HttpOriginTest, APageIsOfAHostWithTheSamePort) {
  EXPECT_TRUE(is_origin_of("http://localhost:8000", "localhost:8000"));
  EXPECT_TRUE(is_origin_of("https://Server.example", "server.example"));
  EXPECT_FALSE(is_origin_of("http://localhost:8001", "localhost:8000"));
  EXPECT_FALSE(is_origin_of("localhost:8000", "localhost:8000")) << "no origin";
  EXPECT_FALSE(is_origin_of("null", "localhost:8000"));
  EXPECT_FALSE(is_origin_of("http://localhost:8000.evil.example", "localhost:8000"));
}

TEST(HttpOriginTest, AHostIsReadWithoutItsPort) {
  EXPECT_EQ(host_without_port("localhost:8000"), "localhost");
  EXPECT_EQ(host_without_port("localhost"), "localhost");
  EXPECT_EQ(host_without_port("[::1]:8000"), "::1");
  EXPECT_EQ(host_without_port("[::1]"), "::1");
  for (const char* wrong : {"", "[::1", "a:", "a:x", "a:123456", "[::1]x"})
    EXPECT_EQ(host_without_port(wrong), "") << wrong;
}

TEST(HttpOriginTest, NamesOfNameServersAreToldFromAddresses) {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "10.1.2.3", "::1", "fe80::1"})
    EXPECT_TRUE(is_localhost_or_address(host)) << host;
  for (const char* host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.1", "1"})
    EXPECT_FALSE(is_localhost_or_address(host)) << host;
}

TEST(HttpOriginTest, TheLoopbackServesThisMachineAlone) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "127.evil.example", "server"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

}  // namespace
}  // namespace atl
