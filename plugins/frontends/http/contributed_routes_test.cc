/// Routes of other plugins, as a provider in this process brings them.
#include "frontends/http/contributed_routes.h"

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "atoll/testing/fake_access.h"
#include "atoll/testing/fake_request_memory.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/recorded_metrics.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

using Paths = std::vector<HttpRoute>;

class Provider final : public HttpRoutes {
 public:
  virtual ~Provider() = default;
  explicit Provider(Paths routes) : routes_(std::move(routes)) {}
  std::vector<HttpRoute> routes() const noexcept override { return routes_; }
  void handle(std::string_view route, HttpExchange& exchange) noexcept override { answer(route, exchange); }
  HttpRewrite rewrite(std::string_view route, const HttpHead& head) const noexcept override {
    return stands_for ? stands_for(route, head) : HttpRewrite();
  }

  std::string refusal(std::string_view route, HttpReply& reply,
                      std::string_view text) const noexcept override {
    if (!has_own_refusals) return {};
    reply.content_type = "text/plain";
    return cat(route, " ", reply.status, " ", text);
  }

  bool has_own_refusals = false;
  std::function<HttpRewrite(std::string_view route, const HttpHead& head)> stands_for;

  /// What it says to every request.
  std::function<void(std::string_view route, HttpExchange& exchange)> answer = [](std::string_view route,
                                                                                  HttpExchange& exchange) {
    exchange.answer({.content_type = "text/plain"},
                    cat(exchange.method(), " ", route, " ", exchange.query()));
  };

 private:
  const Paths routes_;
};

class ContributedRoutesTest : public HttpFrontendTest {
 protected:
  ContributedRoutesTest() { catalog_.add_identity("probe"); }
  void bring(const std::string& instance, Provider& provider, int32_t rank = 0) {
    host_.registry().publish<HttpRoutes>(instance, provider, rank, /*minor=*/2);
    test::publish_service_changed(host_, HttpRoutes::kInterfaceId, instance);
  }
  void take_away(const std::string& instance) {
    host_.registry().withdraw(std::string(HttpRoutes::kInterfaceId), instance);
    test::publish_service_changed(host_, HttpRoutes::kInterfaceId, instance);
  }
  Reply ask(const std::string& method, const std::string& path, const std::string& headers = "") {
    return client().ask(request(method, path, "", headers));
  }
};

TEST_F(ContributedRoutesTest, ACodedSlashIsPartOfANameOnlyWhereAnyRestIsTaken) {
  Provider provider({{"/v1/models/*", kHttpGet, "x.models"}, {"/v1/whole%2Fpath", kHttpGet, "x.models"}});
  provider.answer = [](std::string_view, HttpExchange& exchange) {
    exchange.answer({}, std::string(exchange.path()));
  };
  start();
  bring("models", provider);
  EXPECT_EQ(get("/v1/models/org%2Fname").body, "/v1/models/org%2Fname") << "as it was sent";
  for (const char* path : {"/v1/models/a%2F%2e%2e", "/v1/models/%00", "/v1/models/a%5cb", "/v1/models/%zz",
                           "/v1/whole%2Fpath", "/v1/other%2Fname", "/v2/models/org%2Fname"}) {
    EXPECT_EQ(get(path).status, 400) << path;
  }
}

TEST_F(ContributedRoutesTest, MethodsOfAPathMayBelongToDifferentCategories) {
  Provider provider({{"/m/*", kHttpGet, "x.look"},
                     {"/m/*", kHttpPost, "model-repository"},
                     {"/m/*", kHttpPost | kHttpPut, "x.twice"}});
  Provider other({{"/m/*", kHttpDelete, "x.other"}});
  start();
  bring("a", provider);
  bring("b", other);
  EXPECT_EQ(get("/m/1").body, "GET /m/* ");
  EXPECT_EQ(post("/m/1").body, "POST /m/* ");
  const Reply refused = ask("DELETE", "/m/1");
  EXPECT_EQ(refused.status, 405) << "a path is one provider's";
  EXPECT_EQ(refused.header("allow"), "GET, POST");
  std::string counted;
  for (const auto& [name, value] : test::RecordedMetrics(*frontend_).values()) counted += name + "\n";
  EXPECT_NE(counted.find("category=model-repository"), std::string::npos) << counted;
}

TEST_F(ContributedRoutesTest, ABodyThatIsTooLargeIsRefusedInTheRoutesOwnShape) {
  host_.options().set_bytes("max_input_size", 64 * 1024);
  host_.options().set_string("payload_too_large_status", "413");
  Provider provider({{"/a", kHttpPost, "x.a"}});
  provider.has_own_refusals = true;
  start();
  bring("a", provider);
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\n";
  Reply told = client().ask(head + "Content-Length: 65537\r\n\r\n");
  EXPECT_EQ(told.status, 413);
  EXPECT_TRUE(told.body.starts_with("/a 413 request size of 65537 bytes exceeds")) << told.body;
  EXPECT_EQ(told.header("content-type"), "text/plain");
  told = client().ask(head + "Transfer-Encoding: chunked\r\n\r\n10001\r\n" + std::string(0x10001, ' '));
  EXPECT_EQ(told.status, 413);
  EXPECT_TRUE(told.body.starts_with("/a 413 chunked request exceeds")) << told.body;
  // As all others are.
  told = client().ask("POST /v2/models/probe/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n");
  EXPECT_EQ(told.status, 413);
  EXPECT_TRUE(told.body.starts_with("{\"error\":")) << told.body;
}

TEST_F(ContributedRoutesTest, AStreamThatIsCutOffIsCountedAndLogged) {
  host_.options().set_bytes("max_stream_backlog_bytes", 1 << 20);
  Provider provider({{"/a", kHttpGet, "x.stream"}});
  std::atomic<bool> is_cut{false};
  std::promise<std::thread> writer;  // which may have ended before it is handed over
  provider.answer = [&](std::string_view, HttpExchange& exchange) {
    exchange.begin({});
    writer.set_value(std::thread([&] {
      while (exchange.write(std::string(1000, 'x')).ok()) {
      }
      is_cut = true;
      exchange.end();
    }));
  };
  start();
  bring("streams", provider);
  HttpClient slow(port(), 4096);
  slow.send(request("GET", "/a"));
  EXPECT_TRUE(eventually([&] { return is_cut.load(); }));
  writer.get_future().get().join();
  EXPECT_TRUE(eventually([&] {
    return host_.log().contains("a stream was cut off, because more than 1048576 bytes wait for its client");
  }));
  double count = 0;
  for (const auto& [name, value] : test::RecordedMetrics(*frontend_).values())
    count += name.starts_with("atoll_http_slow_streams_total") ? value : 0;
  EXPECT_EQ(count, 1);
}

TEST_F(ContributedRoutesTest, AStreamLearnsOfTheServersEndInTime) {
  Provider provider({{"/a", kHttpGet, "x.stream"}});
  std::promise<std::thread> writer;  // which may have ended before it is handed over
  provider.answer = [&](std::string_view, HttpExchange& exchange) {
    exchange.begin({});
    EXPECT_TRUE(exchange.write("first ").ok());
    writer.set_value(std::thread([&] {
      while (!exchange.cancellation().cancelled()) std::this_thread::yield();
      EXPECT_TRUE(exchange.write("last").ok());
      exchange.end();
    }));
  };
  start();
  bring("streams", provider);
  HttpClient client(port());
  client.send(request("GET", "/a"));
  EXPECT_TRUE(eventually([&] { return calls() == 1; }));
  catalog_.set_exiting(true);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + kNsPerSecond);
  EXPECT_EQ(client.receive().body, "first last");
  writer.get_future().get().join();
}

TEST_F(ContributedRoutesTest, ARouteMayBeAnotherNameForACall) {
  Provider provider(
      {{"/ping", kHttpGet, "health"}, {"/ask", kHttpPost, "inference"}, {"/none/*", kHttpGet, "x.none"}});
  provider.stands_for = [](std::string_view route, const HttpHead& head) -> HttpRewrite {
    if (route == "/ping") return {.path = "/v2/health/ready"};
    if (route == "/none/*") return {.path = "/v2/nowhere"};
    for (const HttpHeader& header : head.headers) {
      if (header.name == "Goes-To") return {.path = std::string(header.value)};
    }
    return {};
  };
  start();
  bring("names", provider);
  EXPECT_EQ(get("/ping").status, 200);
  EXPECT_EQ(get("/ping").body, "");
  EXPECT_EQ(post("/ping").status, 405) << "the method is the route's own";
  EXPECT_EQ(post("/ask").body, "POST /ask ") << "it stands for nothing";
  EXPECT_EQ(ask("POST", "/ask", "Goes-To: /v2/models/probe\r\n").body, get("/v2/models/probe").body);
  expect_error(get("/none/1"), 404, "Not Found");
  expect_error(ask("POST", "/ask", "Goes-To: /v2/models/%2e%2e\r\n"), 400,
               "the path has a percent code that no name can have");
  expect_alive();
}

TEST_F(ContributedRoutesTest, AnAddressMayAnswerSomePathsOnly) {
  Provider provider({{"/ping", kHttpGet, "health"}, {"/other", kHttpGet, "x.other"}});
  host_.options().set_strings("only_routes", {"/ping", "/v2/models/*/ready"});
  start();
  bring("a", provider);
  EXPECT_EQ(get("/ping").status, 200);
  EXPECT_EQ(get("/v2/models/probe/ready").status, 200);
  for (const char* path : {"/v2", "/v2/health/live", "/other", "/v2/models//ready", "/ping/", "/pin"})
    expect_error(get(path), 404, "Not Found");
}

TEST_F(ContributedRoutesTest, WholePathsAndPrefixes) {
  Provider provider({{"/a", kHttpGet | kHttpPost, "metadata"},
                     {"/ui/*", kHttpGet, "x.ui"},
                     {"/ui/deep/*", kHttpGet, "x.ui"},
                     {"/ui/deep/leaf", kHttpGet | kHttpDelete, "x.ui"}});
  start();
  EXPECT_EQ(get("/a").status, 404);
  bring("other", provider);
  EXPECT_EQ(get("/a").body, "GET /a ");
  EXPECT_EQ(get("/a?b=%20&c").body, "GET /a b=%20&c");
  EXPECT_EQ(post("/a").body, "POST /a ");
  EXPECT_EQ(get("/ui/").body, "GET /ui/* ");
  EXPECT_EQ(get("/ui/x/y").body, "GET /ui/* ");
  EXPECT_EQ(get("/ui/deep/x").body, "GET /ui/deep/* ");
  EXPECT_EQ(get("/ui/deep/leaf").body, "GET /ui/deep/leaf ");
  EXPECT_EQ(ask("DELETE", "/ui/deep/leaf").body, "DELETE /ui/deep/leaf ");
  const Reply refused = ask("PUT", "/ui/deep/leaf");
  expect_error(refused, 405, "Method Not Allowed");
  EXPECT_EQ(refused.header("allow"), "GET, DELETE");
  for (const char* path : {"/", "/a/", "/ui", "/b", "/v3"}) expect_error(get(path), 404, "Not Found");
  expect_error(get("/ui/%2e%2e/x"), 400, "the path has a percent code that no name can have");
  take_away("other");
  expect_error(get("/a"), 404, "Not Found");
  expect_alive();
}

TEST_F(ContributedRoutesTest, AStarInsideTakesAtLeastOneByte) {
  Provider rests({{"/m/*", kHttpGet | kHttpPost, "x.rests"}});
  Provider ends({{"/m/*:do", kHttpPost, "x.ends"},
                 {"/m/*/v/*", kHttpGet, "x.ends"},
                 {"/m/*/v/*/more", kHttpGet, "x.ends"},
                 {"/m/*aa*b", kHttpGet, "x.ends"}});
  start();
  bring("a", rests);
  bring("b", ends);
  for (const auto& [path, route] :
       std::vector<std::pair<std::string, std::string>>{{"/m/a/v/1", "/m/*/v/*"},
                                                        {"/m/a/v/", "/m/*/v/*"},
                                                        {"/m/a/b/v/1/2", "/m/*/v/*"},
                                                        {"/m//v/1", "/m/*"},
                                                        {"/m/v/1", "/m/*"},
                                                        {"/m/a/v/1/more", "/m/*/v/*/more"},
                                                        {"/m/a/v//more", "/m/*/v/*"},
                                                        {"/m/aaab", "/m/*"},
                                                        {"/m/aaacb", "/m/*aa*b"},
                                                        {"/m/aaac", "/m/*"}}) {
    EXPECT_EQ(get(path).body, cat("GET ", route, " ")) << path;
  }
  EXPECT_EQ(post("/m/a:do").body, "POST /m/*:do ");
  EXPECT_EQ(post("/m/org%2Fa:do").body, "POST /m/*:do ");
  EXPECT_EQ(post("/m/:do").body, "POST /m/* ");
  EXPECT_EQ(get("/m/a:do").status, 405);
}

TEST_F(ContributedRoutesTest, WhoHasARouteAndWhatIsNone) {
  Provider low({{"/same", kHttpGet, "low.calls"}, {"/v2/health/live", kHttpGet, "health"}});
  Provider high({{"/same", kHttpGet, "metadata"},
                 {"no-slash", kHttpGet, "metadata"},
                 {"/**/a", kHttpGet, "metadata"},
                 {"/*/*/*/*/*", kHttpGet, "metadata"},
                 {"/none", 0, "metadata"},
                 {"/unknown", kHttpGet, "unknown"},
                 {"/twice", kHttpGet, "metadata"},
                 {"/twice", kHttpGet | kHttpPost, "metadata"}});
  high.answer = [](std::string_view, HttpExchange& exchange) { exchange.answer({}, "high"); };
  bring("a-low", low);
  start();
  bring("b-high", high, 5);
  EXPECT_EQ(get("/same").body, "high");
  EXPECT_EQ(get("/v2/health/live").body, "");
  const auto is_logged = [&](std::string_view text) { return host_.log().contains(std::string(text)); };
  EXPECT_TRUE(is_logged("the route '/same' of 'a-low' is not served: 'b-high' has it already"));
  EXPECT_TRUE(is_logged("the route '/v2/health/live' of 'a-low' is not served: the path is this frontend's"));
  EXPECT_TRUE(is_logged("the route 'no-slash' of 'b-high' is not served: its path does not begin with '/'"));
  EXPECT_TRUE(is_logged("the route '/**/a' of 'b-high' is not served: its path has '*' twice in a row"));
  EXPECT_TRUE(is_logged("the route '/*/*/*/*/*' of 'b-high' is not served: its path has more than 4 '*'"));
  EXPECT_TRUE(is_logged("the route '/none' of 'b-high' is not served: it has no method"));
  EXPECT_TRUE(is_logged("its category 'unknown' is none of the frontend's"));
  EXPECT_TRUE(is_logged("the route '/twice' of 'b-high' is not served: it is listed twice"));
  take_away("b-high");
  EXPECT_EQ(get("/same").body, "GET /same ");
}

TEST_F(ContributedRoutesTest, HeadersOfRequestAndAnswer) {
  Provider provider({{"/a", kHttpPost | kHttpHead, "metadata"}});
  provider.answer = [](std::string_view, HttpExchange& exchange) {
    std::string seen;
    for (uint32_t i = 0; i < exchange.header_count(); ++i) {
      seen += cat(exchange.header(i).name, "=", exchange.header(i).value, ";");
    }
    const HttpHeader headers[] = {{"X-One", "1"}, {"bad name", "2"}, {"X-Bad", "3\r\nX-Evil: 4"}, {"", "5"}};
    exchange.answer({.status = 201, .content_type = "text/plain", .headers = headers}, seen);
  };
  start();
  bring("other", provider);
  const Reply reply = post("/a", "", "x-case: Yes\r\n");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "Host=test;x-case=Yes;Content-Length=0;");
  EXPECT_EQ(reply.header("x-one"), "1");
  EXPECT_EQ(reply.header("x-bad"), "");
  EXPECT_EQ(reply.header("x-evil"), "");
  EXPECT_EQ(reply.header("content-type"), "text/plain");
}

TEST_F(ContributedRoutesTest, KeysHoldForOwnCategoriesAndTheFrontends) {
  test::FakeAccess access;
  for (const char* category : {"x.closed", "metadata"}) {
    access.require(category, "key", "secret", make_status(Code::kPermissionDenied, "not you"));
  }
  host_.registry().publish<Access>("keys", access);
  Provider provider(
      {{"/own", kHttpGet, "x.closed"}, {"/open", kHttpGet, "x.open"}, {"/meta", kHttpGet, "metadata"}});
  start();
  bring("other", provider);
  EXPECT_EQ(get("/open").status, 200);
  for (const char* path : {"/own", "/meta"}) {
    EXPECT_EQ(get(path).status, 403) << path;
    EXPECT_EQ(ask("GET", path, "key: wrong\r\n").status, 403);
    EXPECT_EQ(ask("GET", path, "Key: secret\r\n").status, 200);
    EXPECT_EQ(ask("GET", path, "key: secret\r\nkey: secret\r\n").status, 403);
    EXPECT_EQ(ask("PUT", path).status, 403) << "before the method is judged";
  }
  stop();
}

TEST_F(ContributedRoutesTest, AProviderIsHeldUntilItsExchangeEnds) {
  Provider first({{"/held", kHttpGet, "x.held"}});
  std::atomic<HttpExchange*> held{nullptr};
  first.answer = [&](std::string_view, HttpExchange& exchange) { held = &exchange; };
  Provider second({{"/held", kHttpGet, "x.held"}});
  start();
  bring("other", first);
  const size_t idle_holders = host_.registry().holders();
  HttpClient waiting = client();
  waiting.send(request("GET", "/held"));
  ASSERT_TRUE(eventually([&] { return held.load() != nullptr; }));
  bring("other", second);
  EXPECT_EQ(get("/held").body, "GET /held ") << "the next request is the new one's";
  EXPECT_EQ(host_.registry().holders(), idle_holders + 1) << "the old one has a request";
  std::thread([&] {
    HttpExchange& exchange = *held.load();
    exchange.begin({.content_type = "text/plain"});
    EXPECT_TRUE(exchange.write("one ").ok());
    EXPECT_TRUE(exchange.write("two").ok());
    exchange.end();
  }).join();
  const Reply reply = waiting.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "one two");
  EXPECT_TRUE(eventually([&] { return calls() == 0 && host_.registry().holders() == idle_holders; }));
}

TEST_F(ContributedRoutesTest, AClientThatGoesCancels) {
  Provider provider({{"/held", kHttpGet, "x.held"}});
  std::atomic<HttpExchange*> held{nullptr};
  provider.answer = [&](std::string_view, HttpExchange& exchange) { held = &exchange; };
  start();
  bring("other", provider);
  {
    HttpClient waiting = client();
    waiting.send(request("GET", "/held"));
    ASSERT_TRUE(eventually([&] { return held.load() != nullptr; }));
    waiting.reset();
  }
  EXPECT_TRUE(eventually([&] { return held.load()->cancellation().cancelled(); }));
  held.load()->begin({});
  EXPECT_EQ(held.load()->write("x").code(), Code::kCancelled);
  held.load()->end();
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  expect_alive();
}

TEST_F(ContributedRoutesTest, MemoryOfAllRequestsHolds) {
  test::FakeRequestMemory memory(200000);
  host_.registry().publish<RequestMemory>("memory", memory);
  Provider provider({{"/a", kHttpPost, "x.calls"}});
  provider.answer = [](std::string_view, HttpExchange& exchange) {
    exchange.answer({}, std::string(exchange.body().size() + 150000, 'x'));
  };
  start();
  bring("other", provider);
  EXPECT_EQ(post("/a", std::string(10, 'x')).body.size(), 150010u);
  for (size_t size : {150000, 300000}) {
    const Reply reply = post("/a", std::string(size, 'x'));
    EXPECT_EQ(reply.status, 503) << size;
    EXPECT_EQ(reply.header("retry-after"), "1");
  }
  EXPECT_TRUE(eventually([&] { return memory.used_bytes() == 0; }));
}

TEST_F(ContributedRoutesTest, WhatIsCounted) {
  Provider provider({{"/a", kHttpGet, "x.calls"}, {"/b", kHttpGet, "metadata"}});
  start();
  bring("other", provider);
  for (const char* path : {"/a", "/a", "/b", "/none"}) get(path);
  std::string text;
  const test::RecordedMetrics scrape(*frontend_);
  for (const test::RecordedFamily& family : scrape.families()) {
    for (const test::RecordedSample& sample : family.samples) {
      const auto& labels = sample.labels;
      if (labels.size() == 3)
        text += cat(labels[1].second, "/", labels[2].second, "=", static_cast<int>(sample.value), " ");
    }
  }
  EXPECT_EQ(text, "metadata/2xx=1 x.calls/2xx=2 other/4xx=1 ");
}

}  // namespace
}  // namespace atl::frontends::http
