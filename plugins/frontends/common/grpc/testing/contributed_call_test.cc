// Calls of other plugins, as a provider in this process answers them.

#include <atomic>
#include <optional>
#include <thread>

#include "atoll/testing/fake_access.h"
#include "atoll/testing/fake_request_memory.h"
#include "frontends/common/grpc/testing/contributed_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

using Client = GenericClient;

TEST_F(ContributedCallTest, UnaryCallsOfWhoIsThere) {
  Provider provider{{kMethod, "x.calls"}, {"/x.Test/Meta", "metadata"}};
  start();
  expect_status(call_raw(kMethod, ""), StatusCode::UNIMPLEMENTED, "");
  bring("other", provider);
  EXPECT_EQ(ask(kMethod, "abc"), "/x.Test/Call abc");
  EXPECT_EQ(ask(kMethod), "/x.Test/Call ");
  EXPECT_EQ(ask("/x.Test/Meta", "1"), "/x.Test/Meta 1");
  for (const char* method : {"/x.Test/None", "/x.Test", "/x.Test/Call/", "/"}) {
    expect_status(call_raw(method, ""), StatusCode::UNIMPLEMENTED, "");
  }
  take_away("other");
  expect_status(call_raw(kMethod, ""), StatusCode::UNIMPLEMENTED, "");
}

TEST_F(ContributedCallTest, WhoHasAMethodAndWhatIsNone) {
  Provider low{{kMethod, "low.calls"}, {"/inference.GRPCInferenceService/More", "metadata"}};
  Provider high{{kMethod, "metadata"},
                {"x.Test/Call", "metadata"},
                {"/Call", "metadata"},
                {"/a/b/c", "metadata"},
                {"//c", "metadata"},
                {"/x.Test/A B", "metadata"},
                {"/x.Test/" + std::string(1024, 'x'), "metadata"},
                {"/x.Test/Unknown", "unknown"},
                {"/x.Test/Metrics", "metrics"},
                {"/x.Test/Twice", "metadata"},
                {"/x.Test/Twice", "x.calls"}};
  high.answer = [](std::string_view, GrpcExchange& exchange) { exchange.answer("high"); };
  bring("a-low", low);
  start();
  bring("b-high", high, 5);
  EXPECT_EQ(ask(kMethod), "high");
  const auto is_logged = [&](std::string_view path, std::string_view of, std::string_view reason) {
    return host_.log().contains(cat("the method '", path, "' of '", of, "' is not served: ", reason));
  };
  EXPECT_TRUE(is_logged(kMethod, "a-low", "'b-high' has it already"));
  EXPECT_TRUE(is_logged("/inference.GRPCInferenceService/More", "a-low", "the service is this frontend's"));
  for (const char* path : {"x.Test/Call", "/Call", "/a/b/c", "//c"}) {
    EXPECT_TRUE(is_logged(path, "b-high", "its path is not '/package.Service/Method'")) << path;
  }
  EXPECT_TRUE(is_logged("/x.Test/A B", "b-high", "its path has a character that no path can have"));
  EXPECT_TRUE(host_.log().contains("its path has more than 1,024 bytes"));
  EXPECT_TRUE(is_logged("/x.Test/Unknown", "b-high", "its category 'unknown' is none of the frontend's"));
  EXPECT_TRUE(is_logged("/x.Test/Metrics", "b-high", "nothing of gRPC is in its category"));
  EXPECT_TRUE(is_logged("/x.Test/Twice", "b-high", "it is listed twice"));
  take_away("b-high");
  EXPECT_EQ(ask(kMethod), "/x.Test/Call ");
}

TEST_F(ContributedCallTest, WhatAProviderSees) {
  test::FakeAccess access;
  access.require("x.calls", "x-key", "1", make_status(Code::kPermissionDenied, "not you"));
  host_.registry().publish<Access>("keys", access);
  Provider provider{{kMethod, "x.calls"}};
  provider.answer = [](std::string_view, GrpcExchange& exchange) {
    std::string_view values[2];
    const size_t count = exchange.head().find("x-name", values);
    exchange.answer(
        cat(count, values[0], values[1], " ", exchange.head().peer().substr(0, 15), " ", exchange.caller()));
  };
  start();
  bring("other", provider);
  EXPECT_EQ(ask(kMethod, "", {{"x-name", "a"}, {"x-name", "b"}, {"x-key", "1"}}),
            "2ab ipv4:127.0.0.1: x-key");
  stop();
}

TEST_F(ContributedCallTest, StreamsAndFailures) {
  Provider provider{{kMethod, "x.calls"}};
  std::thread answering;
  provider.answer = [&](std::string_view, GrpcExchange& exchange) {
    answering = std::thread([&exchange] {
      for (int i = 0; i < 1000; ++i) EXPECT_TRUE(exchange.write(i == 1 ? "" : cat("piece ", i)).ok());
      exchange.end(make_status(Code::kFailedPrecondition, "that is all"));
    });
  };
  start();
  bring("other", provider);
  Client client(channel(), kMethod);
  client.send("");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(client.read(), i == 1 ? "" : cat("piece ", i));
  EXPECT_EQ(client.read(), std::nullopt);
  expect_status(client.finish(), StatusCode::FAILED_PRECONDITION, "that is all");
  answering.join();
  provider.answer = [](std::string_view, GrpcExchange& exchange) {
    exchange.end(make_status(Code::kNotFound, "not here"));
  };
  expect_status(call_raw(kMethod, ""), StatusCode::NOT_FOUND, "not here");
  provider.answer = [](std::string_view, GrpcExchange& exchange) { exchange.end({}); };
  EXPECT_EQ(ask(kMethod), "nothing");
}

TEST_F(ContributedCallTest, ACallWithoutAMessageIsRefused) {
  Provider provider{{kMethod, "x.calls"}};
  start();
  bring("other", provider);
  Client client(channel(), kMethod);
  client.send_nothing();
  expect_status(client.finish(), StatusCode::UNIMPLEMENTED,
                "the method takes one request message, and the call has none");
  Client silent(channel(), kMethod);
  Client unknown(channel(), "/x.Test/None");
  expect_status(unknown.finish(), StatusCode::UNIMPLEMENTED, "");
  EXPECT_EQ(calls(), 0) << "who sends nothing is not waited for";
  stop();
}

TEST_F(ContributedCallTest, LimitsOnMessages) {
  host_.options().set_bytes("max_message_bytes", 4 << 20);
  Provider provider{{kMethod, "x.calls"}};
  provider.answer = [](std::string_view, GrpcExchange& exchange) {
    const std::string text = Provider::text_of(exchange);
    exchange.answer(cat(text.size(), text.find_first_not_of('x') == std::string::npos ? " same" : " other"));
  };
  start();
  bring("other", provider);
  for (auto compression : {GRPC_COMPRESS_NONE, GRPC_COMPRESS_GZIP}) {
    for (size_t size : {100, 1 << 20, 3 << 20, 4 << 20, (4 << 20) + 1}) {
      Client client(channel(), kMethod, {}, compression);
      client.send(std::string(size, 'x'));
      if (size <= 4 << 20) {
        EXPECT_EQ(client.read(), cat(size, " same"));
        EXPECT_TRUE(client.finish().ok());
      } else {
        EXPECT_EQ(client.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
      }
    }
  }
  EXPECT_EQ(ask(kMethod, "xx"), "2 same");
}

TEST_F(ContributedCallTest, MemoryOfAllRequestsHolds) {
  test::FakeRequestMemory memory(200000);
  host_.registry().publish<RequestMemory>("memory", memory);
  Provider provider{{kMethod, "x.calls"}};
  provider.answer = [](std::string_view, GrpcExchange& exchange) {
    exchange.answer(std::string(exchange.message().size() + 150000, 'x'));
  };
  start();
  bring("other", provider);
  EXPECT_EQ(ask(kMethod, "0123456789"), std::string(150010, 'x'));
  for (size_t size : {150000, 300000}) {
    Client client(channel(), kMethod);
    client.send(std::string(size, 'x'));
    EXPECT_EQ(client.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED) << size;
    EXPECT_EQ(client.trailer("retry-after"), "1");
  }
  EXPECT_TRUE(eventually([&] { return memory.used_bytes() == 0; }));
}

TEST_F(ContributedCallTest, SoDoMessagesThatWaitForASlowClient) {
  test::FakeRequestMemory memory;
  host_.registry().publish<RequestMemory>("memory", memory);
  keep_client_window();
  HeldCall call(*this);
  GrpcExchange& exchange = *call.exchange;
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(exchange.write(std::string(65536, 'x')).ok());
  EXPECT_TRUE(eventually([&] { return memory.used_bytes() <= exchange.waiting_bytes(); }));
  EXPECT_GE(memory.used_bytes(), 8u * 65536);
  memory.set_limit(memory.used_bytes());
  EXPECT_EQ(exchange.write(std::string(65536, 'x')).code(), Code::kResourceExhausted);
  EXPECT_TRUE(eventually([&] { return exchange.cancellation().cancelled(); }));
  exchange.end({});
  while (call.client->read()) {
  }
  EXPECT_FALSE(call.client->finish().ok());
  EXPECT_TRUE(eventually([&] { return calls() == 0 && memory.used_bytes() == 0; }));
}

TEST_F(ContributedCallTest, KeysHoldForOwnCategoriesAndTheFrontends) {
  test::FakeAccess access;
  for (const char* category : {"x.closed", "metadata"}) {
    access.require(category, "key", "secret", make_status(Code::kPermissionDenied, "not you"));
  }
  host_.registry().publish<Access>("keys", access);
  Provider provider{{"/x.Test/Own", "x.closed"}, {"/x.Test/Open", "x.open"}, {"/x.Test/Meta", "metadata"}};
  start();
  bring("other", provider);
  EXPECT_EQ(ask("/x.Test/Open"), "/x.Test/Open ");
  for (const char* method : {"/x.Test/Own", "/x.Test/Meta"}) {
    expect_status(call_raw(method, ""), StatusCode::PERMISSION_DENIED, "not you");
    EXPECT_EQ(ask(method, "", {{"key", "wrong"}}), "code 7");
    EXPECT_EQ(ask(method, "", {{"key", "secret"}}), cat(method, " "));
  }
  stop();
}

TEST_F(ContributedCallTest, ACallThatWaitedForAccessIsTheNewProviders) {
  test::FakeAccess access;
  access.hold(ApiCategory::kMetadata);
  host_.registry().publish<Access>("keys", access);
  Provider first{{kMethod, "metadata"}};
  Provider second{{kMethod, "metadata"}};
  Provider other_category{{kMethod, "x.calls"}};
  second.answer = [](std::string_view, GrpcExchange& exchange) { exchange.answer("second"); };
  start();
  for (Provider* next : {&second, &other_category}) {
    bring("other", first);
    Client client(channel(), kMethod);
    client.send("");
    ASSERT_TRUE(eventually([&] { return access.waiting() == 1; }));
    bring("other", *next);
    access.answer();
    EXPECT_EQ(client.read(), next == &second ? std::optional<std::string>("second") : std::nullopt);
    EXPECT_EQ(client.finish().error_code(), next == &second ? StatusCode::OK : StatusCode::UNIMPLEMENTED);
  }
  stop();
}

TEST_F(ContributedCallTest, ASlowClientsCallIsCancelled) {
  keep_client_window();
  host_.options().set_bytes("max_stream_backlog_bytes", 1 << 20);
  HeldCall call(*this);
  GrpcExchange& exchange = *call.exchange;
  Status status;
  uint64_t most = 0;
  while (status.ok()) {
    status = exchange.write(std::string(65536, 'x'));
    most = std::max(most, exchange.waiting_bytes());
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.text();
  EXPECT_LE(most, 1u << 20);
  EXPECT_TRUE(eventually([&] { return exchange.cancellation().cancelled(); }));
  EXPECT_EQ(exchange.write("x").code(), Code::kCancelled);
  exchange.end({});
  while (call.client->read()) {
  }
  EXPECT_FALSE(call.client->finish().ok());
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
}

TEST_F(ContributedCallTest, AClientThatCancels) {
  HeldCall call(*this);
  EXPECT_TRUE(call.exchange->write("one").ok());
  EXPECT_EQ(call.client->read(), "one");
  call.client->cancel();
  EXPECT_TRUE(eventually([&] { return call.exchange->cancellation().cancelled(); }));
  EXPECT_EQ(call.exchange->write("two").code(), Code::kCancelled);
  EXPECT_EQ(calls(), 1);
  call.exchange->answer("three");
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
}

/// May do everything, while it holds.
class Caller final : public Identity {
 public:
  ~Caller() override = default;
  std::string_view name() const noexcept override { return "a"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view, std::string_view) const noexcept override { return true; }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return true; }
  bool holds() const noexcept override { return holds_; }
  std::atomic<bool> holds_{true};
};

TEST_F(ContributedCallTest, AStreamHasNoMessageForWhoMayNotHaveItAnyMore) {
  Caller caller;
  test::FakeAccess access;
  access.know("a", &caller);
  host_.registry().publish<Access>("keys", access, 0, 1);
  Provider provider{{kMethod, "x.calls"}};
  HeldExchange held(provider);
  start();
  bring("other", provider);
  Client client(channel(), kMethod, {{"authorization", "Bearer a"}});
  client.send("");
  GrpcExchange& exchange = held.wait();
  EXPECT_TRUE(exchange.write("one").ok());
  EXPECT_EQ(client.read(), "one");
  caller.holds_ = false;
  EXPECT_TRUE(exchange.write("two").ok()) << "identified anew, it is the same caller";
  EXPECT_EQ(client.read(), "two");
  access.know("a", nullptr);
  EXPECT_EQ(exchange.write("three").code(), Code::kUnauthenticated);
  EXPECT_EQ(client.read(), std::nullopt);
  EXPECT_TRUE(eventually([&] { return exchange.cancellation().cancelled(); }));
  exchange.end({});
  EXPECT_FALSE(client.finish().ok());
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  stop();
}

TEST_F(ContributedCallTest, AProviderMayEndItsExchangeWhereItHearsOfTheCancellation) {
  HeldCall call(*this);
  EXPECT_TRUE(call.exchange->write("one").ok());
  EndsWhenCancelled ends(*call.exchange);
  call.client->cancel();
  EXPECT_TRUE(ends.wait());
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  take_away("other");
  EXPECT_TRUE(all_gone(call.holders_before));
}

TEST_F(ContributedCallTest, AndSoItMayWhenTheClientIsTooSlow) {
  keep_client_window();
  host_.options().set_bytes("max_stream_backlog_bytes", 1 << 20);
  Provider provider{{kMethod, "x.calls"}};
  std::optional<EndsWhenCancelled> ends;
  std::atomic<bool> has_written{false};
  provider.answer = [&](std::string_view, GrpcExchange& exchange) {
    ends.emplace(exchange);
    while (exchange.write(std::string(65536, 'x')).ok()) {
    }
    has_written = true;
  };
  start();
  bring("other", provider);
  Client client(channel(), kMethod);
  client.send("");
  EXPECT_TRUE(eventually([&] { return has_written.load(); }));
  EXPECT_TRUE(ends->wait());
  while (client.read()) {
  }
  EXPECT_FALSE(client.finish().ok());
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
}

TEST_F(ContributedCallTest, AndSoItMayWhenTheServerStops) {
  HeldCall call(*this);
  EndsWhenCancelled ends(*call.exchange);
  stop();
  EXPECT_TRUE(ends.wait());
  EXPECT_FALSE(call.client->finish().ok());
}

TEST_F(ContributedCallTest, AProviderIsHeldUntilItsExchangeEnds) {
  Provider first{{kMethod, "x.held"}};
  HeldExchange held(first);
  Provider second{{kMethod, "x.held"}};
  start();
  bring("other", first);
  const size_t idle_holders = host_.registry().holders();
  Client client(channel(), kMethod);
  client.send("");
  GrpcExchange& exchange = held.wait();
  bring("other", second);
  EXPECT_EQ(ask(kMethod), "/x.Test/Call ") << "the next call is the new one's";
  EXPECT_EQ(host_.registry().holders(), idle_holders + 1) << "the old one has a call";
  take_away("other");
  EXPECT_EQ(ask(kMethod), "code 12");
  std::thread([&] { exchange.answer("late"); }).join();
  EXPECT_EQ(client.read(), "late");
  EXPECT_TRUE(client.finish().ok());
  EXPECT_TRUE(all_gone(idle_holders - 1));
}

TEST_F(ContributedCallTest, AClientThatDoesNotReadHoldsNoProvider) {
  keep_client_window();
  HeldCall call(*this);
  call.exchange->answer(std::string(4 << 20, 'x'));
  take_away("other");
  EXPECT_TRUE(eventually([&] { return host_.registry().holders() == call.holders_before; }));
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(call.client->read(), std::string(4 << 20, 'x'));
  EXPECT_TRUE(call.client->finish().ok());
}

TEST_F(ContributedCallTest, ADrainWaitsForRunningCallsAndRefusesNewOnes) {
  HeldCall running(*this);
  catalog_.set_exiting(true);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 600 * kNsPerSecond);
  EXPECT_EQ(frontend_->holding(), "1 gRPC call");
  expect_status(call_raw(kMethod, ""), StatusCode::UNAVAILABLE,
                "GRPC server is shutting down and has stopped accepting new requests.");
  running.exchange->answer("late");
  EXPECT_EQ(running.client->read(), "late");
  EXPECT_TRUE(running.client->finish().ok());
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
}

TEST_F(ContributedCallTest, StopCancelsWhatRunsAndWaitsForItsEnd) {
  HeldCall running(*this);
  std::thread ending([&] {
    EXPECT_TRUE(eventually([&] { return running.exchange->cancellation().cancelled(); }));
    running.exchange->end(make_status(Code::kCancelled, "gone"));
  });
  stop();
  ending.join();
  EXPECT_FALSE(running.client->finish().ok());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
