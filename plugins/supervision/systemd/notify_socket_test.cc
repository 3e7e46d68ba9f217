#include "supervision/systemd/notify_socket.h"

#include <gtest/gtest.h>

#include "supervision/systemd/testing/manager_double.h"

namespace atl::supervision {
namespace {

using test::ManagerDouble;

TEST(NotifySocket, SendsToAPathAndToAnAbstractName) {
  for (auto kind : {ManagerDouble::Kind::kPath, ManagerDouble::Kind::kAbstract}) {
    ManagerDouble manager(kind);
    auto socket = NotifySocket::open(manager.address());
    ASSERT_TRUE(socket.ok()) << socket.status().text();
    EXPECT_TRUE(socket->send("READY=1\nSTATUS=x").ok());
    EXPECT_TRUE(socket->send("WATCHDOG=1").ok());
    EXPECT_EQ(manager.take(), (std::vector<std::string>{"READY=1\nSTATUS=x", "WATCHDOG=1"}));
  }
}

TEST(NotifySocket, RefusesAddressesOfAnotherKind) {
  for (const char* address : {"", "/", "@", "run/notify", "vsock:2:1234"}) {
    EXPECT_EQ(NotifySocket::open(address).status().message(),
              cat("found '", address, "', expected a path from / on, or '@' and a name"));
  }
  EXPECT_TRUE(NotifySocket::open(cat("@", std::string(106, 'x'))).ok());
  EXPECT_EQ(NotifySocket::open(cat("/", std::string(107, 'x'))).status().message(),
            "found 108 bytes, expected at most 107");
}

TEST(NotifySocket, NobodyThereIsAFailureAndNoSignal) {
  auto socket = NotifySocket::open("/nowhere/notify");
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(socket->send("READY=1").code(), Code::kUnavailable);
  EXPECT_EQ(socket->send("READY=1").message(), "No such file or directory");
  auto manager = std::make_optional<ManagerDouble>();
  auto known = NotifySocket::open(manager->address());
  ASSERT_TRUE(known.ok());
  manager.reset();
  EXPECT_EQ(known->send("READY=1").code(), Code::kUnavailable);
}

TEST(NotifySocket, AFullQueueIsNotWaitedFor) {
  ManagerDouble manager;
  auto socket = NotifySocket::open(manager.address());
  ASSERT_TRUE(socket.ok());
  Status sent;
  while (sent.ok()) sent = socket->send("READY=1");
  EXPECT_EQ(sent.code(), Code::kResourceExhausted);
  EXPECT_FALSE(manager.take().empty());
  EXPECT_TRUE(socket->send("READY=1").ok());
}

}  // namespace
}  // namespace atl::supervision
