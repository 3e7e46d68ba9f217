/// The suite of HTTP routes against providers that are right and ones that are broken on purpose.
#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/fake_host.h"

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
  kForgetsTheGone,
  kAsksTheGoneToWait,
  kListensOn,
  kGivesUpWhenWritesFail,
  kDoesNotDrain,
};

/// Answers at once, on its thread, in pieces, and one request when its client goes or the provider drains.
class Routes final : public HttpRoutesUnderTest, public HttpRoutes, private CancelListener {
 public:
  explicit Routes(Fault fault) : fault_(fault), thread_(host_.executors().create("routes", {}).value()) {}
  virtual ~Routes() = default;

  // --- HttpRoutesUnderTest ---
  HttpRoutes& routes() override { return *this; }
  void drain() override {
    if (fault_ != Fault::kDoesNotDrain) end_held();
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
      hold(exchange);
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
  void hold(HttpExchange& exchange) {
    std::lock_guard lock(mutex_);
    held_.push_back(&exchange);
    if (fault_ == Fault::kForgetsTheGone) return;
    if (exchange.cancellation().listen(this, &exchange)) return;
    if (fault_ != Fault::kAsksTheGoneToWait) on_cancel(&exchange);
  }
  void on_cancel(void* context) noexcept override {
    post([this, exchange = static_cast<HttpExchange*>(context)] {
      {
        std::lock_guard lock(mutex_);
        if (std::erase(held_, exchange) == 0) return;
      }
      end_one(*exchange);
    });
  }
  void end_held() {
    std::vector<HttpExchange*> held;
    {
      std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (HttpExchange* exchange : held) {
      if (fault_ == Fault::kReadsTheHeadLater) (void)exchange->path();
      end_one(*exchange);
    }
  }
  void end_one(HttpExchange& exchange) {
    if (fault_ == Fault::kListensOn) {
      exchange.answer({}, {});
      return exchange.cancellation().stop_listening();
    }
    exchange.cancellation().stop_listening();
    exchange.answer({}, {});
  }

  const Fault fault_;
  mutable int calls_ = 0;
  FakeHost host_{"routes", FakeHost::Threads::kReal};
  std::mutex mutex_;
  std::vector<HttpExchange*> held_;
  SerialExecutorPtr thread_;  // last: it uses all of the above
};

/// \param fails  the checks that see the fault \param sees_seldom  the check that sees it if threads run so
HttpRoutesProvider routes(std::string name, Fault fault, const std::vector<std::string>& fails = {},
                          const std::string& sees_seldom = {}) {
  HttpRoutesProvider provider;
  provider.name = std::move(name);
  provider.make = [fault] { return std::make_shared<Routes>(fault); };
  provider.cases = {
      {"/now", {"GET", "/now", "a=b", {{"Host", "localhost"}}, {}}, 200},
      {"/later/*", {"POST", "/later/c", {}, {{"Content-Type", "text/plain"}}, std::string(5000, 'x')}, 201},
      {"/pieces", {"GET", "/pieces"}, 200},
      {"/held", {"GET", "/held"}, 200, /*lasts=*/true}};
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  if (!sees_seldom.empty()) {
    provider.exceptions.push_back(unsupported(sees_seldom, "whether it sees the fault is for the threads"));
  }
  // What does not end now does not end at all.
  if (!fails.empty()) provider.most_wait = std::chrono::milliseconds(20);
  return provider;
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
        routes("forgets the gone", Fault::kForgetsTheGone, kWhoeverLeaves),
        routes("asks the gone to wait", Fault::kAsksTheGoneToWait, {"AClientMayHaveGoneBefore"},
               "AClientMayGoAtAnyTime"),
        routes("listens on", Fault::kListensOn,
               {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime", "AClientMayTakeNothing",
                "WhatLastsEndsInADrain", "ManyConnectionsAskAtATime"}),
        routes("gives up when writes fail", Fault::kGivesUpWhenWritesFail,
               {"AClientMayHaveGoneBefore", "AClientMayTakeNothing"}, "AClientMayGoAtAnyTime"),
        routes("does not drain", Fault::kDoesNotDrain, {"WhatLastsEndsInADrain"})));

}  // namespace
}  // namespace atl::test
