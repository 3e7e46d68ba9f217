#include "frontends/common/sockets/listen_address.h"

#include <gtest/gtest.h>

namespace atl::frontends {
namespace {

TEST(ListenAddress, IsReadAndWritten) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  for (const Case& expected : {Case{"127.0.0.1:8001", "127.0.0.1", 8001}, Case{"localhost:0", "localhost", 0},
                               Case{"[::1]:65535", "::1", 65535}, Case{"[fe80::1%lo]:1", "fe80::1%lo", 1}}) {
    Result<ListenAddress> address = ListenAddress::parse(expected.text);
    ASSERT_TRUE(address.ok()) << address.status().text();
    EXPECT_EQ(address->host, expected.host);
    EXPECT_EQ(address->port, expected.port);
    EXPECT_EQ(address->text(address->port), expected.text);
  }
  EXPECT_EQ(ListenAddress::parse("[::1]:0")->text(77), "[::1]:77");
}

TEST(ListenAddress, RefusesWhatIsNoAddress) {
  for (const char* text :
       {"", ":", "8001", ":8001", "host:", "host:x", "host:65536", "host:70000", "host:-1", "host:+1",
        "host: 1", "::1:8001", "[]:1", "[::1:8001", "[:1", "127.0.0.1:8001x", "[::1]x:1"}) {
    Result<ListenAddress> address = ListenAddress::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(address.status().message(),
              cat("option 'address' is '", text,
                  "', expected host:port with a port of 0 to 65535, such as 127.0.0.1:8001"));
  }
}

}  // namespace
}  // namespace atl::frontends
