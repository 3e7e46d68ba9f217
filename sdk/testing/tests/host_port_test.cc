#include "atoll/core/host_port.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(HostPort, IsReadAndWritten) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  for (const Case& expected : {Case{"127.0.0.1:8001", "127.0.0.1", 8001}, Case{"localhost:0", "localhost", 0},
                               Case{"[::1]:65535", "::1", 65535}, Case{"[fe80::1%lo]:1", "fe80::1%lo", 1}}) {
    const std::optional<HostPort> read = HostPort::parse(expected.text);
    ASSERT_TRUE(read) << expected.text;
    EXPECT_EQ(read->host, expected.host);
    EXPECT_EQ(read->port, expected.port);
    EXPECT_EQ(read->text(), expected.text);
  }
}

TEST(HostPort, RefusesOtherTexts) {
  for (const char* text :
       {"", ":", "8001", ":8001", "host:", "host:x", "host:65536", "host:70000", "host:-1", "host:+1",
        "host: 1", "::1:8001", "[]:1", "[::1:8001", "[:1", "127.0.0.1:8001x", "[::1]x:1"}) {
    EXPECT_FALSE(HostPort::parse(text)) << text;
  }
}

}  // namespace
}  // namespace atl
