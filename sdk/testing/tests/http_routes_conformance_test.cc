/// The suite of HTTP routes against providers that are right and ones that are broken on purpose.
#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/fake_host.h"
#include "testing/exchange_faults.h"

namespace atl::test {
namespace {

enum class RoutesFault {
  kNone,
  kBadPath,
  kBadCategory,
  kNoMethods,
  kListsTwice,
  kChangesRoutes,
  kLeavesTheUnknown,
  kFailsTheUnknown,
  kAnswersTwice,
  kTouchesAfterTheEnd,
  kReadsTheHeadLater,
  kWritesBeforeItBegins,
  kEndsWithoutABeginning,
  kAnswersAfterItBegan,
  kWritesFramingHeaders,
  kNoStatus,
  kGivesUpWhenWritesFail,
  kDoesNotDrain,
};

/// Answers at once, on its thread, in pieces, and one request when its client goes or the provider drains.
class Routes final : public HttpRoutesUnderTest, public HttpRoutes {
 public:
  Routes(RoutesFault fault, HeldFault held)
      : fault_(fault),
        held_(held, thread_, [](HttpExchange& exchange) { exchange.answer({}, {}); }),
        thread_(host_.executors().create("routes", {}).value()) {}
  virtual ~Routes() = default;

  // --- HttpRoutesUnderTest ---
  HttpRoutes& routes() override { return *this; }
  void drain() override {
    if (fault_ == RoutesFault::kDoesNotDrain) return;
    held_.end_all([this](const HttpExchange& exchange) {
      if (fault_ == RoutesFault::kReadsTheHeadLater) (void)exchange.path();
    });
  }

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override {
    std::vector<HttpRoute> all = {{"/now", kHttpGet | kHttpHead, "metadata"},
                                  {"/later/*", kHttpPost, "test.later"},
                                  {"/pieces", kHttpGet, "inference"},
                                  {"/held", kHttpGet, "test.held"}};
    if (fault_ == RoutesFault::kBadPath) all[0].path = "now";
    if (fault_ == RoutesFault::kBadCategory) all[0].category = "nobody's";
    if (fault_ == RoutesFault::kNoMethods) all[0].methods = 0;
    if (fault_ == RoutesFault::kListsTwice) all.push_back(all[0]);
    if (fault_ == RoutesFault::kChangesRoutes && calls_++ % 2 == 1) all.pop_back();
    return all;
  }
  void handle(std::string_view route, HttpExchange& exchange) noexcept override {
    if (route == "/now") {
      now(exchange);
    } else if (route == "/later/*") {
      const std::string path(exchange.path());
      post([this, path, &exchange] { later(exchange, path); });
    } else if (route == "/pieces") {
      post([this, &exchange] { pieces(exchange); });
    } else if (route == "/held") {
      held_.hold(exchange);
    } else if (fault_ != RoutesFault::kLeavesTheUnknown) {
      exchange.answer({.status = fault_ == RoutesFault::kFailsTheUnknown ? 500 : 404}, {});
    }
  }

 private:
  template <class Function>
  void post(Function function) {
    thread_->post(make_task(std::move(function)));
  }
  void now(HttpExchange& exchange) {
    const HttpHeader framing[] = {{"Content-length", "3"}};
    HttpReply reply{.content_type = "text/plain"};
    if (fault_ == RoutesFault::kWritesFramingHeaders) reply.headers = framing;
    if (fault_ == RoutesFault::kNoStatus) reply.status = 0;
    if (fault_ == RoutesFault::kAnswersAfterItBegan) exchange.begin(reply);
    exchange.answer(reply, "now");
    if (fault_ == RoutesFault::kAnswersTwice) exchange.answer(reply, "now");
  }
  void later(HttpExchange& exchange, const std::string& path) {
    std::string body(reinterpret_cast<const char*>(exchange.body().data()), exchange.body().size());
    exchange.answer({.status = 201}, path + body);
    if (fault_ == RoutesFault::kTouchesAfterTheEnd) (void)exchange.body();
  }
  void pieces(HttpExchange& exchange) {
    if (fault_ == RoutesFault::kEndsWithoutABeginning) return exchange.end();
    if (fault_ == RoutesFault::kWritesBeforeItBegins) (void)exchange.write("early").ok();
    exchange.begin({});
    for (int i = 0; i < 3; ++i) {
      if (exchange.write("piece").ok()) continue;
      if (fault_ == RoutesFault::kGivesUpWhenWritesFail) return;
      break;
    }
    exchange.end();
  }

  const RoutesFault fault_;
  mutable int calls_ = 0;
  FakeHost host_{"routes", FakeHost::Threads::kReal};
  HeldExchanges<HttpExchange> held_;
  SerialExecutorPtr thread_;  // last: it uses all of the above
};

/// \param fails, sees_seldom  as of expect_failures()
HttpRoutesProvider routes(std::string name, RoutesFault fault, const std::vector<std::string>& fails = {},
                          const std::string& sees_seldom = {}, HeldFault held = HeldFault::kNone) {
  HttpRoutesProvider provider;
  provider.name = std::move(name);
  provider.make = [fault, held] { return std::make_shared<Routes>(fault, held); };
  provider.cases = {
      {"/now", {"GET", "/now", "a=b", {{"Host", "localhost"}}, {}}, 200},
      {"/later/*", {"POST", "/later/c", {}, {{"Content-Type", "text/plain"}}, std::string(5000, 'x')}, 201},
      {"/pieces", {"GET", "/pieces"}, 200},
      {"/held", {"GET", "/held"}, 200, /*lasts=*/true}};
  expect_failures(fails, sees_seldom, &provider);
  return provider;
}

HttpRoutesProvider routes(std::string name, HeldFault held, const std::vector<std::string>& fails,
                          const std::string& sees_seldom = {}) {
  return routes(std::move(name), RoutesFault::kNone, fails, sees_seldom, held);
}

/// What sees a fault in how a request is answered that its client waits for.
const std::vector<std::string> kWhoeverAsksRoutes = {
    "RoutesAreTheSameAtEachCall", "EachRequestIsAnsweredOnce", "AClientMayHaveGoneBefore",
    "AClientMayGoAtAnyTime",      "AClientMayTakeNothing",     "WhatLastsEndsInADrain",
    "ManyConnectionsAskAtATime"};
const std::vector<std::string> kUnlistedRoutes = {"RoutesAreOnesThatAFrontendServes"};
const std::vector<std::string> kWhoeverLeaves = {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime",
                                                 "AClientMayTakeNothing", "ManyConnectionsAskAtATime"};

INSTANTIATE_TEST_SUITE_P(
    Fakes, HttpRoutesConformance,
    ::testing::Values(
        routes("right", RoutesFault::kNone), routes("bad path", RoutesFault::kBadPath, kUnlistedRoutes),
        routes("bad category", RoutesFault::kBadCategory, kUnlistedRoutes),
        routes("no methods", RoutesFault::kNoMethods, kUnlistedRoutes),
        routes("lists twice", RoutesFault::kListsTwice, kUnlistedRoutes),
        routes("changes routes", RoutesFault::kChangesRoutes, {"RoutesAreTheSameAtEachCall"}),
        routes("leaves the unknown", RoutesFault::kLeavesTheUnknown, {"ARouteOfAPredecessorsIsNotFound"}),
        routes("fails the unknown", RoutesFault::kFailsTheUnknown, {"ARouteOfAPredecessorsIsNotFound"}),
        routes("answers twice", RoutesFault::kAnswersTwice, kWhoeverAsksRoutes),
        routes("touches after the end", RoutesFault::kTouchesAfterTheEnd, kWhoeverAsksRoutes),
        routes("reads the head later", RoutesFault::kReadsTheHeadLater, {"WhatLastsEndsInADrain"}),
        routes("writes before it begins", RoutesFault::kWritesBeforeItBegins, kWhoeverAsksRoutes),
        routes("ends without a beginning", RoutesFault::kEndsWithoutABeginning, kWhoeverAsksRoutes),
        routes("answers after it began", RoutesFault::kAnswersAfterItBegan, kWhoeverAsksRoutes),
        routes("writes framing headers", RoutesFault::kWritesFramingHeaders, kWhoeverAsksRoutes),
        routes("no status", RoutesFault::kNoStatus, kWhoeverAsksRoutes),
        routes("forgets the gone", HeldFault::kForgetsTheGone, kWhoeverLeaves),
        routes("asks the gone to wait", HeldFault::kAsksTheGoneToWait, {"AClientMayHaveGoneBefore"},
               "AClientMayGoAtAnyTime"),
        routes("listens on", HeldFault::kListensOn,
               {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime", "AClientMayTakeNothing",
                "WhatLastsEndsInADrain", "ManyConnectionsAskAtATime"}),
        routes("gives up when writes fail", RoutesFault::kGivesUpWhenWritesFail,
               {"AClientMayHaveGoneBefore", "AClientMayTakeNothing"}, "AClientMayGoAtAnyTime"),
        routes("does not drain", RoutesFault::kDoesNotDrain, {"WhatLastsEndsInADrain"})));

}  // namespace
}  // namespace atl::test
