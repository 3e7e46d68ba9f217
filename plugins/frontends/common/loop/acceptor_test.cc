#include "frontends/common/loop/acceptor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_log.h"

namespace atl::frontends {
namespace {

int refuse_for_want_of_descriptors(int) {
  errno = EMFILE;
  return -1;
}
int accept_one(int listening) { return accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    EXPECT_TRUE(loop_.open().ok());
    Result<ListeningSocket> socket = listen_on({"127.0.0.1", 0}, {}, "test");
    EXPECT_TRUE(socket.ok());
    port_ = socket->port;
    EXPECT_TRUE(acceptor_.open(std::move(socket).value()).ok());
  }
  ~AcceptorTest() override {
    for (int fd : taken_) close(fd);
    for (int fd : clients_) close(fd);
  }
  void connect_one() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    clients_.push_back(fd);
  }

  test::FakeClock clock_;
  test::RecordingLog log_;
  EventLoop loop_{clock_};
  std::vector<int> taken_;
  std::vector<int> clients_;
  Acceptor acceptor_{loop_, log_, "gRPC", [this](int fd) { taken_.push_back(fd); }};
  int port_ = 0;
};

TEST_F(AcceptorTest, TakesAllThatWait) {
  connect_one();
  connect_one();
  loop_.turn(1000);
  EXPECT_EQ(taken_.size(), 2u);
}

/// What opens later, with the models of the start still to be decided.
class OpeningTest : public ::testing::Test {
 protected:
  OpeningTest() {
    EXPECT_TRUE(loop_.open().ok());
    Result<ListeningSocket> socket = listen_on({"127.0.0.1", 0}, {.opens_later = true}, "test");
    EXPECT_TRUE(socket.ok());
    port_ = socket->port;
    fd_ = socket->fd;
    EXPECT_TRUE(acceptor_
                    .open(std::move(socket).value(), {.is_due = [this] { return is_due_; },
                                                      .opened = [this](int port) { told_.push_back(port); }})
                    .ok());
  }
  bool connects() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return connected;
  }
  void pass(int64_t ns) {
    clock_.advance(ns);
    loop_.turn(0);
  }

  test::FakeClock clock_;
  test::RecordingLog log_;
  EventLoop loop_{clock_};
  bool is_due_ = false;
  std::vector<int> told_;
  int taken_ = 0;
  Acceptor acceptor_{loop_, log_, "gRPC", [this](int fd) {
                       ++taken_;
                       close(fd);
                     }};
  int port_ = 0;
  int fd_ = -1;
};

TEST_F(OpeningTest, ClientsAreRefusedUntilItIsDue) {
  pass(kNsPerSecond);
  EXPECT_FALSE(connects());
  EXPECT_FALSE(listen_on({"127.0.0.1", static_cast<uint16_t>(port_)}, {}, "other").ok())
      << "the address is taken";
  acceptor_.resume();  // as after a pause; it opens nothing
  EXPECT_FALSE(connects());
  EXPECT_TRUE(told_.empty());
  is_due_ = true;
  pass(kNsPerSecond);
  EXPECT_EQ(told_, std::vector<int>{port_});
  EXPECT_TRUE(connects());
  loop_.turn(1000);
  EXPECT_EQ(taken_, 1);
  pass(kNsPerSecond);
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(OpeningTest, ItMayEndBeforeItOpens) {
  acceptor_.close();
  is_due_ = true;
  pass(kNsPerSecond);
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(listen_on({"127.0.0.1", static_cast<uint16_t>(port_)}, {}, "other").ok());
}

TEST_F(OpeningTest, AnAddressThatSomebodyElseTookIsTriedAgainEachSecond) {
  // As an earlier server's connections would have it: both reuse the address, and the other one listens first.
  const int on = 1;
  ASSERT_EQ(setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
  Result<ListeningSocket> other = listen_on({"127.0.0.1", static_cast<uint16_t>(port_)}, {}, "other");
  ASSERT_TRUE(other.ok()) << other.status().text();
  is_due_ = true;
  for (int second = 0; second < 3; ++second) pass(kNsPerSecond);
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(log_.count(LogLevel::kError, "gRPC cannot listen yet on port"), 1u);
  close(other->fd);
  pass(kNsPerSecond);
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_TRUE(connects());
}

TEST_F(AcceptorTest, GoesOnWhenDescriptorsComeBack) {
  acceptor_.set_accept_function(&refuse_for_want_of_descriptors);
  connect_one();
  loop_.turn(1000);
  EXPECT_TRUE(log_.contains("gRPC cannot take connections for now"));
  acceptor_.set_accept_function(&accept_one);
  loop_.turn(0);
  EXPECT_TRUE(taken_.empty());  // it waits, rather than turn without end
  clock_.advance(200 * kNsPerMs);
  loop_.turn(0);
  loop_.turn(1000);
  EXPECT_EQ(taken_.size(), 1u);
}

TEST_F(AcceptorTest, HeldBackItLeavesThemInTheQueue) {
  acceptor_.pause();
  connect_one();
  loop_.turn(0);
  EXPECT_TRUE(taken_.empty());
  acceptor_.resume();
  loop_.turn(1000);
  EXPECT_EQ(taken_.size(), 1u);
}

TEST_F(AcceptorTest, ClosedItTakesNone) {
  acceptor_.close();
  acceptor_.resume();
  EXPECT_FALSE(acceptor_.is_open());
  loop_.turn(0);
  EXPECT_TRUE(taken_.empty());
}

}  // namespace
}  // namespace atl::frontends
