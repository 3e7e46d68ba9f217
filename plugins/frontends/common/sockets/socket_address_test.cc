#include "frontends/common/sockets/socket_address.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>

#include "frontends/common/sockets/listening_socket.h"

namespace atl::frontends {
namespace {

SocketAddress address_of(const HostPort& server) {
  SocketAddress address;
  EXPECT_EQ(resolve_address(server, AI_NUMERICHOST, &address), "");
  return address;
}

SocketAddress on_loopback(int port) { return address_of({"127.0.0.1", static_cast<uint16_t>(port)}); }

int option(const FileDescriptor& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(getsockopt(socket.get(), level, name, &value, &size), 0);
  return value;
}

/// \returns what it came to, once that is known
int error_of(const FileDescriptor& socket) {
  pollfd writable{socket.get(), POLLOUT, 0};
  EXPECT_EQ(poll(&writable, 1, 30'000), 1);
  return option(socket, SOL_SOCKET, SO_ERROR);
}

TEST(ResolveAddress, TakesAddressesAndSaysWhyNot) {
  EXPECT_EQ(address_of({"127.0.0.1", 80}).get()->sa_family, AF_INET);
  EXPECT_EQ(address_of({"::1", 80}).get()->sa_family, AF_INET6);
  SocketAddress address;
  EXPECT_NE(resolve_address({"no address", 80}, AI_NUMERICHOST, &address), "");
}

TEST(BeginConnection, ConnectsAndNoticesWhenTheOtherSideIsGone) {
  Result<ListeningSocket> listener = listen_on({"127.0.0.1", 0}, {}, "HTTP");
  ASSERT_TRUE(listener.ok()) << listener.status().text();
  const FileDescriptor listens(listener->fd);
  const FileDescriptor socket = begin_connection(on_loopback(listener->port));
  ASSERT_TRUE(socket.valid());
  EXPECT_EQ(error_of(socket), 0);
  EXPECT_NE(option(socket, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option(socket, SOL_SOCKET, SO_KEEPALIVE), 0);
  const int seconds = option(socket, IPPROTO_TCP, TCP_KEEPIDLE) +
                      option(socket, IPPROTO_TCP, TCP_KEEPINTVL) * option(socket, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_EQ(seconds, 25);
}

TEST(BeginConnection, SaysWhatIsRefused) {
  int port = 0;
  {
    Result<ListeningSocket> listener = listen_on({"127.0.0.1", 0}, {}, "HTTP");
    ASSERT_TRUE(listener.ok()) << listener.status().text();
    const FileDescriptor listens(listener->fd);
    port = listener->port;
  }
  const FileDescriptor socket = begin_connection(on_loopback(port));
  EXPECT_EQ(socket.valid() ? error_of(socket) : errno, ECONNREFUSED);
  SocketAddress none;
  none.storage.ss_family = AF_INET6;
  none.bytes = 1;
  EXPECT_FALSE(begin_connection(none).valid());
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace atl::frontends
