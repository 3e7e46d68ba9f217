/// The suite of gRPC calls against providers that are right and ones that are broken on purpose.
#include "atoll/testing/conformance/grpc_calls.h"
#include "atoll/testing/fake_host.h"
#include "testing/exchange_faults.h"

namespace atl::test {
namespace {

enum class CallsFault {
  kNone,
  kBadPath,
  kLongPath,
  kOwnService,
  kBadCategory,
  kCategoryOfHttp,
  kListsTwice,
  kChangesMethods,
  kLeavesTheUnknown,
  kAnswersTheUnknown,
  kFailsTheKnown,
  kAnswersTwice,
  kTouchesAfterTheEnd,
  kWritesAfterTheEnd,
  kGivesUpWhenWritesFail,
  kDoesNotDrain,
};

/// Answers at once, on its thread, as a stream, and one call when its client goes or the provider drains.
class Calls final : public GrpcCallsUnderTest, public GrpcCalls {
 public:
  Calls(CallsFault fault, HeldFault held)
      : fault_(fault),
        held_(held, thread_, [](GrpcExchange& exchange) { exchange.answer({}); }),
        thread_(host_.executors().create("calls", {}).value()) {}
  virtual ~Calls() = default;

  // --- GrpcCallsUnderTest ---
  GrpcCalls& calls() override { return *this; }
  void drain() override {
    if (fault_ != CallsFault::kDoesNotDrain) held_.end_all();
  }

  // --- GrpcCalls ---
  std::vector<GrpcMethod> methods() const noexcept override {
    std::vector<GrpcMethod> all = {{"/test.Calls/Now", "metadata"},
                                   {"/test.Calls/Later", "test.later"},
                                   {"/test.Calls/Stream", "inference"},
                                   {"/test.Calls/Failure", "test.failure"},
                                   {"/test.Calls/Held", "test.held"}};
    if (fault_ == CallsFault::kBadPath) all.push_back({"/test.Calls", "metadata"});
    if (fault_ == CallsFault::kLongPath) all.push_back({"/test.Calls/" + std::string(1024, 'x'), "metadata"});
    if (fault_ == CallsFault::kOwnService) all.push_back({"/grpc.health.v1.Health/Ask", "metadata"});
    if (fault_ == CallsFault::kBadCategory) all[0].category = "nobody's";
    if (fault_ == CallsFault::kCategoryOfHttp) all[0].category = "metrics";
    if (fault_ == CallsFault::kListsTwice) all.push_back(all[0]);
    if (fault_ == CallsFault::kChangesMethods && calls_++ % 2 == 1) all.pop_back();
    return all;
  }
  void handle(std::string_view method, GrpcExchange& exchange) noexcept override {
    if (method == "/test.Calls/Now") {
      now(exchange);
    } else if (method == "/test.Calls/Later") {
      post([this, &exchange] { later(exchange); });
    } else if (method == "/test.Calls/Stream") {
      post([this, &exchange] { stream(exchange); });
    } else if (method == "/test.Calls/Failure") {
      exchange.end(Status(Code::kAborted, "as asked"));
    } else if (method == "/test.Calls/Held") {
      held_.hold(exchange);
    } else if (fault_ == CallsFault::kAnswersTheUnknown) {
      exchange.answer({});
    } else if (fault_ != CallsFault::kLeavesTheUnknown) {
      exchange.end(Status(Code::kUnimplemented, ""));
    }
  }

 private:
  template <class Function>
  void post(Function function) {
    thread_->post(make_task(std::move(function)));
  }
  void now(GrpcExchange& exchange) {
    if (fault_ == CallsFault::kFailsTheKnown) return exchange.end(Status(Code::kUnimplemented, ""));
    exchange.answer("now");
    if (fault_ == CallsFault::kAnswersTwice) exchange.answer("now");
  }
  void later(GrpcExchange& exchange) {
    std::string_view key;
    exchange.head().find("key", {&key, 1});
    const std::string message(reinterpret_cast<const char*>(exchange.message().data()),
                              exchange.message().size());
    exchange.answer(cat(exchange.caller(), key, message));
    if (fault_ == CallsFault::kTouchesAfterTheEnd) (void)exchange.message();
  }
  void stream(GrpcExchange& exchange) {
    for (int i = 0; i < 3; ++i) {
      if (exchange.write("piece").ok()) continue;
      if (fault_ == CallsFault::kGivesUpWhenWritesFail) return;
      break;
    }
    exchange.end({});
    if (fault_ == CallsFault::kWritesAfterTheEnd) (void)exchange.write("late").ok();
  }

  const CallsFault fault_;
  mutable int calls_ = 0;
  FakeHost host_{"calls", FakeHost::Threads::kReal};
  HeldExchanges<GrpcExchange> held_;
  SerialExecutorPtr thread_;  // last: it uses all of the above
};

/// \param fails, sees_seldom  as of expect_failures()
GrpcCallsProvider calls(std::string name, CallsFault fault, const std::vector<std::string>& fails = {},
                        const std::string& sees_seldom = {}, HeldFault held = HeldFault::kNone) {
  GrpcCallsProvider provider;
  provider.name = std::move(name);
  provider.make = [fault, held] { return std::make_shared<Calls>(fault, held); };
  provider.cases = {{"/test.Calls/Now"},
                    {"/test.Calls/Later", {std::string(5000, 'x'), {{"key", "value"}}, "somebody"}},
                    {"/test.Calls/Stream"},
                    {"/test.Calls/Failure", {}, Code::kAborted},
                    {"/test.Calls/Held", {}, Code::kOk, /*lasts=*/true}};
  // Else the check would fail for the want of a case.
  for (const GrpcMethod& method : Calls(fault, held).methods()) {
    const bool has_case = std::any_of(provider.cases.begin(), provider.cases.end(),
                                      [&](const GrpcCallsCase& one) { return one.method == method.path; });
    if (!has_case) provider.cases.push_back({method.path, {}, Code::kUnimplemented});
  }
  expect_failures(fails, sees_seldom, &provider);
  return provider;
}
GrpcCallsProvider calls(std::string name, HeldFault held, const std::vector<std::string>& fails,
                        const std::string& sees_seldom = {}) {
  return calls(std::move(name), CallsFault::kNone, fails, sees_seldom, held);
}
/// Right, but the test has no case for one of its methods.
GrpcCallsProvider without_a_case() {
  GrpcCallsProvider provider = calls("no case", CallsFault::kNone, {"MethodsAreOnesThatAFrontendServes"});
  provider.cases.erase(provider.cases.begin());
  return provider;
}

/// What sees a fault in how a call is answered that its client waits for.
const std::vector<std::string> kWhoeverAsksCalls = {"MethodsAreTheSameAtEachCall", "EachCallIsAnsweredOnce",
                                                    "AClientMayHaveGoneBefore",    "AClientMayGoAtAnyTime",
                                                    "AClientMayTakeNothing",       "WhatLastsEndsInADrain",
                                                    "ManyClientsCallAtATime"};
const std::vector<std::string> kUnlistedMethods = {"MethodsAreOnesThatAFrontendServes"};
const std::vector<std::string> kUnknown = {"AMethodOfAPredecessorsIsUnimplemented"};

INSTANTIATE_TEST_SUITE_P(
    Fakes, GrpcCallsConformance,
    ::testing::Values(calls("right", CallsFault::kNone), without_a_case(),
                      calls("bad path", CallsFault::kBadPath, kUnlistedMethods),
                      calls("long path", CallsFault::kLongPath, kUnlistedMethods),
                      calls("own service", CallsFault::kOwnService, kUnlistedMethods),
                      calls("bad category", CallsFault::kBadCategory, kUnlistedMethods),
                      calls("category of HTTP", CallsFault::kCategoryOfHttp, kUnlistedMethods),
                      calls("lists twice", CallsFault::kListsTwice, kUnlistedMethods),
                      calls("changes methods", CallsFault::kChangesMethods, {"MethodsAreTheSameAtEachCall"}),
                      calls("leaves the unknown", CallsFault::kLeavesTheUnknown, kUnknown),
                      calls("answers the unknown", CallsFault::kAnswersTheUnknown, kUnknown),
                      calls("fails the known", CallsFault::kFailsTheKnown, {"EachCallIsAnsweredOnce"}),
                      calls("answers twice", CallsFault::kAnswersTwice, kWhoeverAsksCalls),
                      calls("touches after the end", CallsFault::kTouchesAfterTheEnd, kWhoeverAsksCalls),
                      calls("writes after the end", CallsFault::kWritesAfterTheEnd, kWhoeverAsksCalls),
                      calls("forgets the gone", HeldFault::kForgetsTheGone,
                            {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime", "AClientMayTakeNothing",
                             "ManyClientsCallAtATime"}),
                      calls("asks the gone to wait", HeldFault::kAsksTheGoneToWait,
                            {"AClientMayHaveGoneBefore"}, "AClientMayGoAtAnyTime"),
                      calls("listens on", HeldFault::kListensOn,
                            {"AClientMayHaveGoneBefore", "AClientMayGoAtAnyTime", "AClientMayTakeNothing",
                             "WhatLastsEndsInADrain", "ManyClientsCallAtATime"}),
                      calls("gives up when writes fail", CallsFault::kGivesUpWhenWritesFail,
                            {"AClientMayHaveGoneBefore", "AClientMayTakeNothing"}, "AClientMayGoAtAnyTime"),
                      calls("does not drain", CallsFault::kDoesNotDrain, {"WhatLastsEndsInADrain"})));

TEST(FakeGrpcExchange, ReceivesWhatTheProviderSends) {
  std::vector<std::unique_ptr<FakeGrpcExchange>> sent;
  Calls provider(CallsFault::kNone, HeldFault::kNone);  // ends first
  const auto received = [&](std::string_view method) {
    FakeGrpcRequest request{"message", {{"key", "value"}}, "somebody"};
    FakeGrpcExchange& exchange = *sent.emplace_back(std::make_unique<FakeGrpcExchange>(std::move(request)));
    exchange.send_to(provider, method);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    EXPECT_EQ(exchange.problems(), std::vector<std::string>());
    return exchange.received();
  };
  EXPECT_EQ(received("/test.Calls/Later").messages, std::vector<std::string>{"somebodyvaluemessage"});
  EXPECT_EQ(received("/test.Calls/Stream").messages, std::vector<std::string>(3, "piece"));
  const ReceivedGrpcAnswer failure = received("/test.Calls/Failure");
  EXPECT_EQ(failure.messages, std::vector<std::string>());
  EXPECT_EQ(failure.code, Code::kAborted);
  EXPECT_EQ(failure.text, "as asked");
}

}  // namespace
}  // namespace atl::test
