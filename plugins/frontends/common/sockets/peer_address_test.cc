#include "frontends/common/sockets/peer_address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "atoll/core/text.h"
#include "frontends/common/sockets/listening_socket.h"

namespace atl::frontends {
namespace {

TEST(PeerAddressTest, IsOfTheOtherEnd) {
  Result<ListeningSocket> listening = listen_on({"127.0.0.1", 0}, {}, "test");
  ASSERT_TRUE(listening.ok());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(listening->port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(peer_address(fd), "unknown");
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(peer_address(fd), cat("ipv4:127.0.0.1:", listening->port));
  close(fd);
  close(listening->fd);
}

TEST(PeerAddressTest, OfNoInternetSocketIsUnknown) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  EXPECT_EQ(peer_address(pair[0]), "unknown");
  for (int fd : pair) close(fd);
}

}  // namespace
}  // namespace atl::frontends
