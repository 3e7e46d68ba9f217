#include "frontends/http/host_lookup.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"

namespace atl::frontends::http {
namespace {

class HostLookupTest : public ::testing::Test {
 protected:
  HostLookupTest() { EXPECT_TRUE(loop_.open().ok()); }

  Result<SocketAddress> find(const std::string& host) {
    std::optional<Result<SocketAddress>> answer;
    lookup_->find({host, 80}, [&](const Result<SocketAddress>& found) { answer = found; });
    while (!answer) loop_.turn(1000);
    return *answer;
  }

  test::RealClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<HostLookup> lookup_ = std::make_unique<HostLookup>(loop_);
};

TEST_F(HostLookupTest, ReadsAddressesWithoutAsking) {
  const auto v4 = HostLookup::read_address({"127.0.0.1", 8000});
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->get()->sa_family, AF_INET);
  EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in*>(v4->get())->sin_port), 8000);
  const auto v6 = HostLookup::read_address({"::1", 8000});
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->get()->sa_family, AF_INET6);
  EXPECT_FALSE(HostLookup::read_address({"localhost", 8000}).has_value());
}

TEST_F(HostLookupTest, FindsANameAndTheNextOne) {
  for (int i = 0; i < 2; ++i) {
    const Result<SocketAddress> found = find("localhost");
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_GT(found->bytes, 0u);
  }
}

TEST_F(HostLookupTest, ANameThatCanNotBeOneHasNone) {
  const Result<SocketAddress> found = find(std::string(300, 'x'));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::kUnavailable);
  EXPECT_NE(found.status().message().find("has no address: "), std::string::npos);
}

TEST_F(HostLookupTest, ItsEndLeavesQuestionsUnanswered) {
  int answers = 0;
  for (int i = 0; i < 8; ++i) lookup_->find({"localhost", 80}, [&](const auto&) { ++answers; });
  lookup_.reset();
  EXPECT_EQ(answers, 0);  // the loop had no turn
}

}  // namespace
}  // namespace atl::frontends::http
