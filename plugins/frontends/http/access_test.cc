// Who may call what.
#include <future>

#include "atoll/testing/fake_access.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class MayEverything final : public Identity {
 public:
  ~MayEverything() override = default;
  std::string_view name() const noexcept override { return "a"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view, std::string_view) const noexcept override { return true; }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return true; }
  bool holds() const noexcept override { return true; }
};

class AccessTest : public HttpFrontendTest {
 protected:
  AccessTest() { catalog_.add_identity("probe"); }
  ~AccessTest() override { stop(); }

  void start_with_access() {
    host_.registry().publish<Access>("keys", access_);
    start();
  }
  void require(ApiCategory category) {
    access_.require(category, "x-key", "right",
                    make_status(Code::kPermissionDenied, "This API is restricted, expecting header 'X-Key'"));
  }
  bool waits(size_t count) {
    return eventually([&] { return access_.waiting() == count; });
  }

  test::FakeAccess access_;
  const MayEverything everybody_;
};

TEST_F(AccessTest, H22AndH23RestrictedCalls) {
  require(ApiCategory::kInference);
  require(ApiCategory::kMetadata);
  start_with_access();
  const std::string text = "This API is restricted, expecting header 'X-Key'";
  expect_error(infer("probe"), 403, text);
  expect_error(infer("probe", "X-Key: wrong\r\n"), 403, text);
  expect_error(infer("probe", "X-Key: right2\r\n"), 403, text);
  expect_error(infer("probe", "X-Key: Right\r\n"), 403, text);
  expect_error(infer("probe", "X-Key: right\r\nX-Key: wrong\r\n"), 403, text);
  expect_error(infer("probe", "X-Key: wrong\r\nx-key: right\r\n"), 403, text);
  expect_error(infer("probe", "X-Key: right\r\nX-Key: right\r\nX-Key: right\r\n"), 403, text);
  expect_error(get("/v2/models/probe/infer"), 403, text);  // before the method
  expect_error(get("/v2"), 403, text);
  EXPECT_EQ(infer("probe", "x-KEY: right\r\n").status, 200);
  EXPECT_EQ(get("/v2/health/live").status, 200);
  expect_error(post("/v2/health/live"), 405, "Method Not Allowed");
  EXPECT_FALSE(host_.log().contains("right"));
  EXPECT_EQ(access_.last_protocol(), CallProtocol::kHttp);
  EXPECT_TRUE(access_.last_peer().starts_with("ipv4:127.0.0.1:")) << access_.last_peer();
}

TEST_F(AccessTest, APathThatIsNoCallIsNotAskedFor) {
  start_with_access();
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(get("/v2/models/%2e/infer").status, 400);
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) EXPECT_EQ(access_.asked(static_cast<ApiCategory>(i)), 0u);
}

TEST_F(AccessTest, CodesOfARefusal) {
  for (auto [code, status] : {std::pair(Code::kUnauthenticated, 401), std::pair(Code::kPermissionDenied, 403),
                              std::pair(Code::kUnavailable, 503), std::pair(Code::kDeadlineExceeded, 504)}) {
    access_.require(ApiCategory::kHealth, "x-key", "right", make_status(code, "why"));
    if (frontend_ == nullptr) start_with_access();
    expect_error(get("/v2/health/live"), status, "why");
  }
}

TEST_F(AccessTest, RequestsSayWhoTheirCallerIs) {
  std::vector<std::string> callers;
  catalog_.add_identity("m").respond = [&](Request& request) {
    callers.emplace_back(request.caller);
    test::answer_identity(request);
    (void)request.release().ok();
  };
  require(ApiCategory::kInference);
  start_with_access();
  HttpClient one = client();
  const std::string body = infer_body();
  EXPECT_EQ(one.ask(request("POST", "/v2/models/m/infer", body, "X-Key: right\r\n")).status, 200);
  EXPECT_EQ(one.ask(request("POST", "/v2/models/m/infer", body, "X-Key: right\r\n")).status, 200);
  EXPECT_EQ(callers, (std::vector<std::string>{"x-key", "x-key"}));
}

TEST_F(AccessTest, WhatACallerPresentsIsForwardedToNoModel) {
  std::vector<std::string> seen;
  catalog_.add_identity("m").respond = [&](Request& request) {
    for (const Parameter& parameter : request.parameters) seen.emplace_back(parameter.key);
    test::answer_identity(request);
    (void)request.release().ok();
  };
  host_.options().set_string("header_forward_pattern", "x-own|auth|cookie");
  const std::string headers = "Authorization: Bearer a\r\nX-Own: 1\r\nCookie: a=b\r\n";
  start();
  EXPECT_EQ(infer("m", headers).status, 200);
  EXPECT_EQ(seen, (std::vector<std::string>{"Authorization", "X-Own", "Cookie"})) << "nobody asks who calls";
  stop();
  seen.clear();
  access_.know("a", &everybody_);
  host_.registry().publish<Access>("keys", access_, 0, 1);
  start();
  EXPECT_EQ(infer("m", headers).status, 200);
  EXPECT_EQ(seen, std::vector<std::string>{"X-Own"});
}

TEST_F(AccessTest, NothingOfTheBodyIsReadUntilThereIsAnAnswer) {
  access_.hold(ApiCategory::kInference);
  start_with_access();
  const std::string body = infer_body();
  HttpClient one = client();
  one.send("POST /v2/models/probe/infer HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n");
  ASSERT_TRUE(waits(1));
  EXPECT_EQ(calls(), 0);
  EXPECT_EQ(get("/v2/health/live").status, 200) << "others are served";
  access_.answer();
  EXPECT_EQ(one.receive().status, 100);
  one.send(body);
  const Reply reply = one.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, infer_reply("probe"));
}

TEST_F(AccessTest, RefusedAfterAWait) {
  access_.hold(ApiCategory::kInference);
  start_with_access();
  HttpClient one = client();
  // The second request comes with the first.
  one.send(request("POST", "/v2/models/probe/infer", infer_body()) + request("GET", "/v2/health/live"));
  ASSERT_TRUE(waits(1));
  access_.answer(Code::kPermissionDenied, "not you");
  expect_error(one.receive(), 403, "not you");
  EXPECT_EQ(one.receive().status, 200);
}

TEST_F(AccessTest, AClientThatHasGoneIsForgottenWhenTheAnswerIsThere) {
  access_.hold(ApiCategory::kInference);
  start_with_access();
  {
    HttpClient one = client();
    one.send(request("POST", "/v2/models/probe/infer", infer_body()));
    ASSERT_TRUE(waits(1));
  }
  access_.answer();
  EXPECT_TRUE(eventually([&] { return frontend_->open_connections() == 0; }));
  EXPECT_EQ(get("/v2/health/live").status, 200);
}

TEST_F(AccessTest, TheServerStopsWhenTheLastAnswerIsThere) {
  access_.hold(ApiCategory::kInference);
  start_with_access();
  HttpClient one = client();
  one.send(request("POST", "/v2/models/probe/infer", infer_body()));
  ASSERT_TRUE(waits(1));
  auto stopped = std::async(std::launch::async, [this] { stop(); });
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  access_.answer();
  stopped.get();
}

}  // namespace
}  // namespace atl::frontends::http
