#include "frontends/common/sockets/listening_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "atoll/runtime/listener_list.h"
#include "atoll/testing/fake_host.h"

namespace atl::frontends {
namespace {

constexpr ListenOptions kFresh{};

/// Frontends of one server, each with its host.
class Frontends : public testing::Test {
 protected:
  test::FakeHost& host(const std::string& name) {
    auto& found = hosts_[name];
    if (found == nullptr) {
      found = std::make_unique<test::FakeHost>(name);
      found->registry().publish<Listeners>("kernel", listeners_);
    }
    return *found;
  }
  Result<ListeningSocket> listen(const std::string& name, const std::string& address, int port,
                                 bool share_port = false) {
    return listen_on({address, static_cast<uint16_t>(port)}, {.host = &host(name), .share_port = share_port},
                     "HTTP");
  }
  Result<ListeningSocket> listen(const std::string& name, int port = 0) {
    return listen(name, "127.0.0.1", port);
  }
  static std::string in_use(int port, const char* address = "127.0.0.1") {
    return cat("Socket '", address, ":", port, "' already in use ");
  }

 private:
  runtime::ListenerList listeners_;
  std::map<std::string, std::unique_ptr<test::FakeHost>> hosts_;
};

void end(Result<ListeningSocket>& socket) {
  socket->note.reset();
  close(socket->fd);
}

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
  EXPECT_EQ(sharing.status().message(), second.status().message()) << "the first one does not share";
  close(first->fd);
}

TEST(ListeningSocket, ThoseThatShareMayShare) {
  constexpr ListenOptions kShare{.share_port = true};
  Result<ListeningSocket> first = listen_on({"127.0.0.1", 0}, kShare, "HTTP");
  ASSERT_TRUE(first.ok());
  const auto port = static_cast<uint16_t>(first->port);
  Result<ListeningSocket> second = listen_on({"127.0.0.1", port}, kShare, "HTTP");
  ASSERT_TRUE(second.ok()) << second.status().text();
  EXPECT_EQ(listen_on({"127.0.0.1", port}, kFresh, "HTTP").status().code(), Code::kUnavailable);
  close(second->fd);
  close(first->fd);
}

TEST(ListeningSocket, OneThatOpensLaterKeepsItsAddressAndRefusesClients) {
  Result<ListeningSocket> later = listen_on({"127.0.0.1", 0}, {.opens_later = true}, "HTTP");
  ASSERT_TRUE(later.ok()) << later.status().text();
  const auto port = static_cast<uint16_t>(later->port);
  EXPECT_FALSE(is_listening(later->fd));
  EXPECT_EQ(connect_to(port), -1);
  for (bool opens_later : {false, true}) {
    EXPECT_EQ(listen_on({"127.0.0.1", port}, {.opens_later = opens_later}, "HTTP").status().code(),
              Code::kUnavailable);
  }
  ASSERT_TRUE(start_listening(later->fd));
  EXPECT_TRUE(is_listening(later->fd));
  const int client = connect_to(port);
  EXPECT_GE(client, 0);
  close(accept_one(later->fd));  // ends first, so what is left of the connection is this side's
  close(client);
  close(later->fd);
  Result<ListeningSocket> next = listen_on({"127.0.0.1", port}, {.opens_later = true}, "HTTP");
  ASSERT_TRUE(next.ok()) << "what is left of connections does not keep the address: " << next.status().text();
  close(next->fd);
}

TEST_F(Frontends, OneThatTakesOverOpensWhatItsPredecessorHadNotOpenedYet) {
  Result<ListeningSocket> old =
      listen_on({"127.0.0.1", 0}, {.host = &host("old"), .opens_later = true}, "HTTP");
  ASSERT_TRUE(old.ok());
  host("old").set_retires(true);
  EXPECT_EQ(connect_to(old->port), -1);
  Result<ListeningSocket> next = listen("next", old->port);
  ASSERT_TRUE(next.ok()) << next.status().text();
  EXPECT_TRUE(is_listening(next->fd));
  EXPECT_EQ(next->port, old->port);
  end(next);
  end(old);
}

TEST_F(Frontends, ConnectionsThatWaitAreAcceptedByTheOneThatTakesOver) {
  Result<ListeningSocket> old = listen("old");
  ASSERT_TRUE(old.ok());
  host("old").set_retires(true);
  std::vector<int> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(connect_to(old->port));
  Result<ListeningSocket> next = listen("next", old->port);
  ASSERT_TRUE(next.ok()) << next.status().text();
  EXPECT_EQ(next->port, old->port);
  EXPECT_NE(next->fd, old->fd);
  for (int i = 0; i < 8; ++i) clients.push_back(connect_to(old->port));
  end(old);
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
  end(next);
}

TEST_F(Frontends, OnlyTheSameAddressIsTakenOver) {
  Result<ListeningSocket> old = listen("old");
  ASSERT_TRUE(old.ok());
  host("old").set_retires(true);
  const int port = old->port;
  Result<ListeningSocket> other = listen("next", "127.0.0.2", port);
  ASSERT_TRUE(other.ok()) << other.status().text();
  end(old);
  EXPECT_EQ(connect_to(port), -1);
  end(other);
}

TEST_F(Frontends, WhoStaysKeepsItsPortFromEverybody) {
  Result<ListeningSocket> stays = listen("stays");
  Result<ListeningSocket> old = listen("metrics");
  ASSERT_TRUE(stays.ok() && old.ok());
  host("metrics").set_retires(true);
  host("next").set_replaces_running_instance(true);
  EXPECT_EQ(listen("next", stays->port).status().message(), in_use(stays->port));
  EXPECT_EQ(listen("next", "127.0.0.1", stays->port, true).status().message(), in_use(stays->port));
  EXPECT_EQ(listen("next", "0.0.0.0", stays->port).status().message(), in_use(stays->port, "0.0.0.0"));
  host("metrics").set_retires(false);  // the reload was refused
  EXPECT_EQ(listen("next", old->port).status().message(), in_use(old->port));
  end(old);
  end(stays);
}

TEST_F(Frontends, OfTwoThatMoveToOnePortTheSecondIsRefused) {
  Result<ListeningSocket> http = listen("http");
  ASSERT_TRUE(http.ok());
  host("http").set_retires(true);
  Result<ListeningSocket> next_http = listen("next http");
  ASSERT_TRUE(next_http.ok());
  EXPECT_EQ(listen("next metrics", next_http->port).status().message(), in_use(next_http->port));
  // The port of one that goes is taken over once.
  Result<ListeningSocket> first = listen("next grpc", http->port);
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(listen("next metrics", http->port).status().message(), in_use(http->port));
  EXPECT_EQ(listen("next metrics", "0.0.0.0", http->port).status().message(), in_use(http->port, "0.0.0.0"));
  end(first);
  end(next_http);
  end(http);
}

TEST_F(Frontends, TwoThatAreReplacedSwapTheirPorts) {
  Result<ListeningSocket> http = listen("http"), metrics = listen("metrics");
  ASSERT_TRUE(http.ok() && metrics.ok());
  host("http").set_retires(true);
  host("metrics").set_retires(true);
  Result<ListeningSocket> next_http = listen("next http", metrics->port);
  Result<ListeningSocket> next_metrics = listen("next metrics", http->port);
  ASSERT_TRUE(next_http.ok() && next_metrics.ok());
  EXPECT_EQ(next_http->port, metrics->port);
  EXPECT_EQ(next_metrics->port, http->port);
  for (auto* socket : {&http, &metrics, &next_http, &next_metrics}) end(*socket);
}

TEST_F(Frontends, APortOfAnotherProcessIsNotTakenOver) {
  // Not among the listeners of this server, and it would share.
  Result<ListeningSocket> foreign = listen_on({"127.0.0.1", 0}, {.share_port = true}, "another");
  Result<ListeningSocket> old = listen("http");
  ASSERT_TRUE(foreign.ok() && old.ok());
  host("http").set_retires(true);
  host("next").set_replaces_running_instance(true);
  EXPECT_EQ(listen("next", foreign->port).status().message(), in_use(foreign->port));
  end(old);
  close(foreign->fd);
}

TEST_F(Frontends, AnAddressMayGrowAndShrinkOnOnePort) {
  Result<ListeningSocket> every = listen("old", "0.0.0.0", 0);
  ASSERT_TRUE(every.ok());
  host("old").set_retires(true);
  Result<ListeningSocket> one = listen("next", every->port);
  ASSERT_TRUE(one.ok()) << one.status().text();
  const int port = one->port;
  end(every);
  EXPECT_EQ(listen("other", "0.0.0.0", port).status().message(), in_use(port, "0.0.0.0"));
  host("next").set_retires(true);
  Result<ListeningSocket> again = listen("one after", "0.0.0.0", port);
  ASSERT_TRUE(again.ok()) << again.status().text();
  end(one);
  EXPECT_EQ(listen("other", port).status().message(), in_use(port)) << "it does not share any more";
  end(again);
}

TEST(ListeningSocket, FailuresNameTheAddress) {
  Result<ListeningSocket> far = listen_on({"192.0.2.1", 0}, kFresh, "HTTP");
  EXPECT_EQ(far.status().message(), "cannot listen on '192.0.2.1:0': Cannot assign requested address");
  EXPECT_EQ(far.status().code(), Code::kInvalidArgument);
  Status unknown = listen_on({"no such host", 0}, kFresh, "HTTP").status().clone();
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_TRUE(unknown.message().starts_with("cannot listen on 'no such host': ")) << unknown.message();
}

}  // namespace
}  // namespace atl::frontends
