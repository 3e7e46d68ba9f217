#include "frontends/common/listen_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace atl::frontends {
namespace {

/// A socket that listens on a free port of the loopback for as long as it lives.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int on = 1;
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  uint16_t port() const { return port_; }

 private:
  int fd_;
  uint16_t port_ = 0;
};

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

TEST(ListenAddress, AFreePortIsFreeAlsoAfterwards) {
  ListenAddress address{"127.0.0.1", 0};
  EXPECT_TRUE(check_address_is_free(address).ok());
  {
    Listener listener;
    address.port = listener.port();
    EXPECT_FALSE(check_address_is_free(address).ok());
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(check_address_is_free(address).ok());
}

TEST(ListenAddress, APortInUseIsRefusedAlsoIfItsOwnerShares) {
  Listener listener;
  Status status = check_address_is_free({"127.0.0.1", listener.port()});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), cat("Socket '127.0.0.1:", listener.port(), "' already in use "));
}

TEST(ListenAddress, HostsThatAreNotOfThisMachineAreRefused) {
  Status other = check_address_is_free({"192.0.2.1", 0});
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(other.message(), "can not listen on '192.0.2.1:0': Cannot assign requested address");
  Status unknown = check_address_is_free({"no such host", 0});
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_TRUE(unknown.message().starts_with("can not listen on 'no such host': ")) << unknown.message();
}

}  // namespace
}  // namespace atl::frontends
