#include "frontends/http/host_lookup.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <memory>
#include <string>

#include "atoll/testing/fake_clock.h"

namespace atl::frontends::http {
namespace {

class HostLookupTest : public ::testing::Test {
 protected:
  HostLookupTest() { EXPECT_TRUE(loop_.open().ok()); }

  /// Waits for the answer; to a failure the address is empty.
  SocketAddress find(const std::string& host) {
    SocketAddress address;
    bool answered = false;
    lookup_->find({host, 80}, [&](const Result<SocketAddress>& found) {
      answered = true;
      if (found.ok()) address = found.value();
      code_ = found.status().code();
      text_ = found.status().message();
    });
    while (!answered) loop_.turn(1000);
    return address;
  }

  test::RealClock clock_;
  Code code_ = Code::kOk;
  std::string text_;
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
  for (int i = 0; i < 2; ++i) EXPECT_GT(find("localhost").bytes, 0u) << text_;
}

TEST_F(HostLookupTest, ANameThatCanNotBeOneHasNone) {
  EXPECT_EQ(find(std::string(300, 'x')).bytes, 0u);
  EXPECT_EQ(code_, Code::kUnavailable);
  EXPECT_NE(text_.find("has no address: "), std::string::npos) << text_;
}

TEST_F(HostLookupTest, ItsEndLeavesQuestionsUnanswered) {
  int answers = 0;
  for (int i = 0; i < 8; ++i) lookup_->find({"localhost", 80}, [&](const auto&) { ++answers; });
  lookup_.reset();
  EXPECT_EQ(answers, 0);  // the loop had no turn
}

}  // namespace
}  // namespace atl::frontends::http
