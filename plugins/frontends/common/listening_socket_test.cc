#include "frontends/common/listening_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace atl::frontends {
namespace {

constexpr ListenOptions kFresh{};
constexpr ListenOptions kTakeOver{.take_over = true};

/// \returns the client's descriptor; -1: refused
int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

int accept_one(int listener) {
  pollfd readable{listener, POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 30'000), 1);
  return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
}

TEST(ListeningSocket, TakesAFreePortAndRefusesOneInUse) {
  Result<ListeningSocket> first = listen_on({"127.0.0.1", 0}, kFresh, "HTTP");
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(first->family, AF_INET);
  EXPECT_GT(first->port, 0);
  const auto port = static_cast<uint16_t>(first->port);
  Result<ListeningSocket> second = listen_on({"127.0.0.1", port}, kFresh, "HTTP");
  EXPECT_EQ(second.status().message(), cat("Socket '127.0.0.1:", port, "' already in use "));
  Result<ListeningSocket> sharing = listen_on({"127.0.0.1", port}, {.share_port = true}, "HTTP");
  EXPECT_TRUE(sharing.ok()) << sharing.status().text();
  close(sharing->fd);
  close(first->fd);
}

TEST(ListeningSocket, ConnectionsThatWaitAreAcceptedByTheOneThatTakesOver) {
  Result<ListeningSocket> old = listen_on({"127.0.0.1", 0}, kFresh, "HTTP");
  ASSERT_TRUE(old.ok());
  std::vector<int> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(connect_to(old->port));
  Result<ListeningSocket> next =
      listen_on({"127.0.0.1", static_cast<uint16_t>(old->port)}, kTakeOver, "HTTP");
  ASSERT_TRUE(next.ok()) << next.status().text();
  EXPECT_EQ(next->port, old->port);
  EXPECT_NE(next->fd, old->fd);
  for (int i = 0; i < 8; ++i) clients.push_back(connect_to(old->port));
  close(old->fd);
  for (int client : clients) {
    ASSERT_GE(client, 0);
    const int server = accept_one(next->fd);
    ASSERT_GE(server, 0) << "lost with the old listener";
    close(server);
    close(client);
  }
  const int later = connect_to(next->port);
  EXPECT_GE(later, 0);
  close(later);
  close(next->fd);
}

TEST(ListeningSocket, OnlyTheSameAddressIsTakenOver) {
  Result<ListeningSocket> old = listen_on({"127.0.0.1", 0}, kFresh, "HTTP");
  ASSERT_TRUE(old.ok());
  Result<ListeningSocket> other =
      listen_on({"127.0.0.2", static_cast<uint16_t>(old->port)}, kTakeOver, "HTTP");
  ASSERT_TRUE(other.ok()) << other.status().text();
  close(old->fd);
  EXPECT_EQ(connect_to(old->port), -1);
  close(other->fd);
  Result<ListeningSocket> fresh = listen_on({"127.0.0.1", 0}, kTakeOver, "HTTP");
  EXPECT_TRUE(fresh.ok()) << fresh.status().text();
  close(fresh->fd);
}

TEST(ListeningSocket, FailuresNameTheAddress) {
  Result<ListeningSocket> far = listen_on({"192.0.2.1", 0}, kTakeOver, "HTTP");
  EXPECT_EQ(far.status().message(), "HTTP can not listen on '192.0.2.1:0': Cannot assign requested address");
  EXPECT_EQ(listen_on({"no such host", 0}, kTakeOver, "HTTP").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::frontends
