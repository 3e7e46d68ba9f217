/// The suite of HTTP routes against providers that are right and ones that are broken on purpose.
#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/fake_host.h"
#include "testing/exchange_faults.h"

namespace atl::test {
namespace {

enum class Fault {
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
  Routes(Fault fault, HeldFault held)
      : fault_(fault),
        held_(held, thread_, [](HttpExchange& exchange) { exchange.answer({}, {}); }),
        thread_(host_.executors().create("routes", {}).value()) {}
  virtual ~Routes() = default;

  // --- HttpRoutesUnderTest ---
  HttpRoutes& routes() override { return *this; }
  void drain() override {
    if (fault_ == Fault::kDoesNotDrain) return;
    held_.end_all([this](const HttpExchange& exchange) {
      if (fault_ == Fault::kReadsTheHeadLater) (void)exchange.path();
    });
  }

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override {
    std::vector<HttpRoute> all = {{"/now", kHttpGet | kHttpHead, "metadata"},
                                  {"/later/*", kHttpPost, "test.later"},
                                  {"/pieces", kHttpGet, "inference"},
                                  {"/held", kHttpGet, "test.held"}};
    if (fault_ == Fault::kBadPath) all[0].path = "now";
    if (fault_ == Fault::kBadCategory) all[0].category = "nobody's";
    if (fault_ == Fault::kNoMethods) all[0].methods = 0;
    if (fault_ == Fault::kListsTwice) all.push_back(all[0]);
    if (fault_ == Fault::kChangesRoutes && calls_++ % 2 == 1) all.pop_back();
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
    } else if (fault_ != Fault::kLeavesTheUnknown) {
      exchange.answer({.status = fault_ == Fault::kFailsTheUnknown ? 500 : 404}, {});
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
    if (fault_ == Fault::kWritesFramingHeaders) reply.headers = framing;
    if (fault_ == Fault::kNoStatus) reply.status = 0;
    if (fault_ == Fault::kAnswersAfterItBegan) exchange.begin(reply);
    exchange.answer(reply, "now");
    if (fault_ == Fault::kAnswersTwice) exchange.answer(reply, "now");
  }
  void later(HttpExchange& exchange, const std::string& path) {
    std::string body(reinterpret_cast<const char*>(exchange.body().data()), exchange.body().size());
    exchange.answer({.status = 201}, path + body);
    if (fault_ == Fault::kTouchesAfterTheEnd) (void)exchange.body();
  }
  void pieces(HttpExchange& exchange) {
    if (fault_ == Fault::kEndsWithoutABeginning) return exchange.end();
    if (fault_ == Fault::kWritesBeforeItBegins) (void)exchange.write("early").ok();
    exchange.begin({});
    for (int i = 0; i < 3; ++i) {
      if (exchange.write("piece").ok()) continue;
      if (fault_ == Fault::kGivesUpWhenWritesFail) return;
      break;
    }
    exchange.end();
  }

  const Fault fault_;
  mutable int calls_ = 0;
  FakeHost host_{"routes", FakeHost::Threads::kReal};
  HeldExchanges<HttpExchange> held_;
  SerialExecutorPtr thread_;  // last: it uses all of the above
};

/// \param fails, sees_seldom  as of expect_failures()
HttpRoutesProvider routes(std::string name, Fault fault, const std::vector<std::string>& fails = {},
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
  return routes(std::move(name), Fault::kNone, fails, sees_seldom, held);
}

/// What sees a fault in how a request is answered that its client waits for.
const std::vector<std::string> kWhoeverAsks = {"RoutesAreTheSameAtEachCall", "EachRequestIsAnsweredOnce",
                                               "AClientMayHaveGoneBefore",   "AClientMayGoAtAnyTime",
                                               "AClientMayTakeNothing",      "WhatLastsEndsInADrain",
                                               "ManyConnectionsAskAtATime"};
const std::vector<std::string> kUnlisted = {"RoutesAreOnesThatAFrontendServes"};
const std::vector<std::string> kWhoeverLeaves = {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime",
                                                 "AClientMayTakeNothing", "ManyConnectionsAskAtATime"};

INSTANTIATE_TEST_SUITE_P(
    Fakes, HttpRoutesConformance,
    ::testing::Values(
        routes("right", Fault::kNone), routes("bad path", Fault::kBadPath, kUnlisted),
        routes("bad category", Fault::kBadCategory, kUnlisted),
        routes("no methods", Fault::kNoMethods, kUnlisted),
        routes("lists twice", Fault::kListsTwice, kUnlisted),
        routes("changes routes", Fault::kChangesRoutes, {"RoutesAreTheSameAtEachCall"}),
        routes("leaves the unknown", Fault::kLeavesTheUnknown, {"ARouteOfAPredecessorsIsNotFound"}),
        routes("fails the unknown", Fault::kFailsTheUnknown, {"ARouteOfAPredecessorsIsNotFound"}),
        routes("answers twice", Fault::kAnswersTwice, kWhoeverAsks),
        routes("touches after the end", Fault::kTouchesAfterTheEnd, kWhoeverAsks),
        routes("reads the head later", Fault::kReadsTheHeadLater, {"WhatLastsEndsInADrain"}),
        routes("writes before it begins", Fault::kWritesBeforeItBegins, kWhoeverAsks),
        routes("ends without a beginning", Fault::kEndsWithoutABeginning, kWhoeverAsks),
        routes("answers after it began", Fault::kAnswersAfterItBegan, kWhoeverAsks),
        routes("writes framing headers", Fault::kWritesFramingHeaders, kWhoeverAsks),
        routes("no status", Fault::kNoStatus, kWhoeverAsks),
        routes("forgets the gone", HeldFault::kForgetsTheGone, kWhoeverLeaves),
        routes("asks the gone to wait", HeldFault::kAsksTheGoneToWait, {"AClientMayHaveGoneBefore"},
               "AClientMayGoAtAnyTime"),
        routes("listens on", HeldFault::kListensOn,
               {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime", "AClientMayTakeNothing",
                "WhatLastsEndsInADrain", "ManyConnectionsAskAtATime"}),
        routes("gives up when writes fail", Fault::kGivesUpWhenWritesFail,
               {"AClientMayHaveGoneBefore", "AClientMayTakeNothing"}, "AClientMayGoAtAnyTime"),
        routes("does not drain", Fault::kDoesNotDrain, {"WhatLastsEndsInADrain"})));

}  // namespace
}  // namespace atl::test
