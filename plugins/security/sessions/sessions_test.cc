#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "atoll/core/text.h"
#include "atoll/testing/call_head.h"
#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/fake_host.h"
#include "security/sessions/login_routes.h"

namespace atl::sessions {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Knows the owner of one token, and nobody when that is empty.
class OneToken final : public Access {
 public:
  virtual ~OneToken() = default;
  struct Owner final : Identity {
    std::string permitted;
    ~Owner() override = default;
    std::string_view name() const noexcept override { return "ops"; }
    std::string_view tenant() const noexcept override { return "team"; }
    bool may(ApiCategory, std::string_view category, std::string_view) const noexcept override {
      return permitted == "*" || category == permitted;
    }
    bool may_all(ApiCategory, std::string_view) const noexcept override { return permitted == "*"; }
    bool holds() const noexcept override { return true; }
  };
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    std::string_view value[1];
    if (question.head.find("authorization", value) == 0) return IdentityOutcome::kNotMine;
    if (is_unsure) return unavailable("no keys");
    if (value[0] != cat("Bearer ", token)) return make_status(Code::kUnauthenticated, "wrong");
    auto owner = std::make_shared<Owner>();
    owner->permitted = permitted;
    *identity = owner;
    return IdentityOutcome::kKnown;
  }
  std::string token = "atk_ops_1";
  std::string permitted = "*";
  bool is_unsure = false;
};

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest() {
    host_.registry().publish<Access>("keys", keys_, 0, 1);
    EXPECT_TRUE(source_.open().ok());
  }
  ~SessionsTest() override {
    identity_.reset();  // as frontends do before a source stops
    source_.close();
  }

  static Headers page(Headers more = {}) {
    Headers headers = {
        {"Host", "localhost:8000"}, {"Origin", "http://localhost:8000"}, {"x-atoll-console", "1"}};
    headers.insert(headers.end(), more.begin(), more.end());
    return headers;
  }
  test::ReceivedHttpReply post(const std::string& path, const std::string& body, Headers headers = page()) {
    test::FakeHttpExchange exchange({"POST", path, "", std::move(headers), body});
    exchange.send_to(routes_, path);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }
  static std::string set_cookie(const test::ReceivedHttpReply& reply) {
    for (const auto& [name, value] : reply.headers) {
      if (name == "set-cookie") return value;
    }
    return {};
  }
  /// "atoll-session=..." of somebody who has logged in.
  std::string log_in() {
    const std::string whole = set_cookie(post("/v2/console/login", R"({"token":"atk_ops_1"})"));
    return whole.substr(0, whole.find(';'));
  }
  Result<IdentityOutcome> identify(Headers headers, std::string_view category = "console.read",
                                   CallProtocol protocol = CallProtocol::kHttp) {
    const test::TestCallHead head(std::move(headers));
    identity_.reset();
    return source_.identify({ApiCategory::kOther, category, protocol, head}, &identity_);
  }
  bool is_known(Headers headers) {
    const Result<IdentityOutcome> outcome = identify(std::move(headers));
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_EQ(outcome.ok() && outcome.value() == IdentityOutcome::kKnown, identity_ != nullptr);
    return identity_ != nullptr;
  }
  static Headers call(const std::string& cookie) {
    return {{"cookie", cookie}, {"host", "localhost:8000"}, {"x-atoll-console", "1"}};
  }

  test::FakeHost host_{"sessions"};
  OneToken keys_;
  SessionTable table_{host_.clock(), 8 * 3600 * kNsPerSecond, 3};
  SessionSource source_{host_, table_};
  LoginRoutes routes_{host_, table_, source_, 8 * 3600 * kNsPerSecond};
  std::shared_ptr<const Identity> identity_;
};

TEST_F(SessionsTest, TheCookieStandsForTheKeyAndHasNothingOfIt) {
  const test::ReceivedHttpReply reply = post("/v2/console/login", R"({"token":"atk_ops_1"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body, R"({"caller":"ops"})");
  const std::string whole = set_cookie(reply);
  EXPECT_TRUE(whole.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=28800")) << whole;
  EXPECT_EQ(whole.find("atk_"), std::string::npos);
  const std::string cookie = whole.substr(0, whole.find(';'));
  EXPECT_EQ(cookie.size(), kCookie.size() + 1 + 64);
  EXPECT_TRUE(is_known(call(cookie)));
  EXPECT_EQ(identity_->name(), "ops");
  EXPECT_EQ(identity_->tenant(), "team");
  EXPECT_TRUE(is_known(call("other=1; " + cookie + "; more=2")));
  EXPECT_NE(log_in(), cookie);
}

TEST_F(SessionsTest, WhatAnotherSiteCanSendIsNobodys) {
  const std::string cookie = log_in();
  EXPECT_FALSE(is_known({{"cookie", cookie}, {"host", "localhost:8000"}}));
  EXPECT_FALSE(is_known({{"cookie", cookie}, {"host", "localhost:8000"}, {"x-atoll-console", "0"}}));
  for (const char* origin :
       {"http://evil.example", "null", "", "http://localhost:9000", "http://localhost"}) {
    Headers headers = call(cookie);
    headers.emplace_back("origin", origin);
    EXPECT_FALSE(is_known(headers)) << origin;
  }
  Headers own = call(cookie);
  own.emplace_back("origin", "http://LOCALHOST:8000");
  EXPECT_TRUE(is_known(own));
  // A token that is presented says who calls, and gRPC has no browsers.
  Headers both = call(cookie);
  both.emplace_back("authorization", "Bearer other");
  EXPECT_FALSE(is_known(both));
  EXPECT_EQ(identify(call(cookie), "inference", CallProtocol::kGrpc).value(), IdentityOutcome::kNotMine);
}

TEST_F(SessionsTest, IdsThatAreWrongAreNobodys) {
  std::string cookie = log_in();
  EXPECT_FALSE(is_known(call(cookie + "0")));
  EXPECT_FALSE(is_known(call(cookie + "; " + cookie)));
  EXPECT_FALSE(is_known(call("atoll-session=")));
  EXPECT_FALSE(is_known(call("atoll-sessions" + cookie.substr(13))));
  cookie.back() = cookie.back() == '0' ? '1' : '0';
  EXPECT_FALSE(is_known(call(cookie)));
}

TEST_F(SessionsTest, ASessionEnds) {
  const std::string first = log_in();
  ASSERT_TRUE(is_known(call(first)));
  const std::shared_ptr<const Identity> kept = identity_;
  EXPECT_TRUE(kept->holds());
  host_.fake_clock().advance_to(host_.clock().now_ns() + 8 * 3600 * kNsPerSecond);
  EXPECT_FALSE(is_known(call(first)));
  EXPECT_FALSE(kept->holds());

  const std::string second = log_in();
  EXPECT_EQ(post("/v2/console/logout", "", page({{"Cookie", second}})).status, 200);
  EXPECT_FALSE(is_known(call(second)));

  // With its key.
  const std::string third = log_in();
  keys_.is_unsure = true;
  EXPECT_EQ(identify(call(third)).status().code(), Code::kUnavailable);
  keys_.is_unsure = false;
  EXPECT_TRUE(is_known(call(third)));
  keys_.token = "atk_ops_2";
  EXPECT_FALSE(is_known(call(third)));
  keys_.token = "atk_ops_1";
  EXPECT_FALSE(is_known(call(third))) << "a key that comes back brings no session back";
}

TEST_F(SessionsTest, OneMoreThanThereMayBeEndsTheOldest) {
  const std::string oldest = log_in();
  for (int i = 0; i < 3; ++i) {
    host_.fake_clock().advance_to(host_.clock().now_ns() + kNsPerSecond);
    log_in();
  }
  EXPECT_EQ(table_.size(), 3u);
  EXPECT_FALSE(is_known(call(oldest)));
}

TEST_F(SessionsTest, AttemptsAreLimitedAndTheRightTokenIsNot) {
  const auto status = [&](const char* token) {
    return post("/v2/console/login", cat(R"({"token":")", token, R"("})")).status;
  };
  for (uint32_t i = 0; i < WrongTokens::kMostASecond; ++i) EXPECT_EQ(status("atk_ops_0"), 401);
  EXPECT_EQ(status("atk_ops_0"), 429);
  EXPECT_EQ(status("atk_ops_1"), 200);
  host_.fake_clock().advance_to(host_.clock().now_ns() + kNsPerSecond);
  EXPECT_EQ(status("atk_ops_0"), 401);
  keys_.is_unsure = true;
  EXPECT_EQ(status("atk_ops_1"), 503);
}

TEST_F(SessionsTest, WhoMayNotSeeTheConsoleGetsNoSession) {
  keys_.permitted = "inference";
  const test::ReceivedHttpReply reply = post("/v2/console/login", R"({"token":"atk_ops_1"})");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(set_cookie(reply), "");
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(SessionsTest, OnlyOwnPagesLogIn) {
  const std::string body = R"({"token":"atk_ops_1"})";
  EXPECT_EQ(post("/v2/console/login", body, {{"Host", "localhost:8000"}}).status, 403);
  EXPECT_EQ(post("/v2/console/login", body, {{"Host", "localhost:8000"}, {"x-atoll-console", "1"}}).status,
            200);
  EXPECT_EQ(post("/v2/console/login", body,
                 {{"Host", "localhost:8000"}, {"Origin", "http://evil.example"}, {"x-atoll-console", "1"}})
                .status,
            403);
  const test::ReceivedHttpReply tls =
      post("/v2/console/login", body, {{"Host", "a"}, {"Origin", "https://a"}, {"x-atoll-console", "1"}});
  EXPECT_TRUE(set_cookie(tls).ends_with("; Secure")) << set_cookie(tls);
}

TEST_F(SessionsTest, BodiesThatAreNoneAreRefused) {
  for (const char* body :
       {"", "{}", "[]", R"({"token":1})", R"({"token":""})", R"({"token":"a b"})", R"({"token":"a\nb"})",
        R"({"token":"a","token":"a"})", R"({"token":"a"} x)", "{\"token\":\"a"})
    EXPECT_EQ(post("/v2/console/login", body).status, 400) << body;
  EXPECT_EQ(post("/v2/console/login", cat(R"({"token":")", std::string(20000, 'a'), R"("})")).status, 400);
}

TEST_F(SessionsTest, ThePageItselfIsOpen) {
  EXPECT_EQ(identify({}, kPageCategory).value(), IdentityOutcome::kOpen);
  EXPECT_EQ(identify({}, kLoginCategory).value(), IdentityOutcome::kOpen);
  EXPECT_EQ(identify({}, "console.read").value(), IdentityOutcome::kNotMine);
}

class ServedLogin final : public test::HttpRoutesUnderTest {
 public:
  ServedLogin() {
    host_.registry().publish<Access>("keys", keys_, 0, 1);
    EXPECT_TRUE(source_.open().ok());
  }
  ~ServedLogin() override { source_.close(); }
  HttpRoutes& routes() override { return routes_; }
  void drain() override { host_.gate().close(); }

 private:
  test::FakeHost host_{"sessions"};
  OneToken keys_;
  SessionTable table_{host_.clock(), kNsPerSecond, 3};
  SessionSource source_{host_, table_};
  LoginRoutes routes_{host_, table_, source_, kNsPerSecond};
};

std::shared_ptr<test::HttpRoutesUnderTest> make_login() { return std::make_shared<ServedLogin>(); }
std::vector<test::HttpRoutesCase> login_cases() {
  const Headers own = {{"Host", "a"}, {"x-atoll-console", "1"}};
  return {{"/v2/console/login", {"POST", "/v2/console/login", {}, own, R"({"token":"atk_ops_1"})"}, 200},
          {"/v2/console/logout", {"POST", "/v2/console/logout", {}, own, {}}, 200}};
}

}  // namespace
}  // namespace atl::sessions

namespace atl::test {
INSTANTIATE_TEST_SUITE_P(Login, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{
                             "login", sessions::make_login, sessions::login_cases(), {}}));
}  // namespace atl::test
