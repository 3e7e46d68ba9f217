#include "frontends/openai/openai_routes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "atoll/testing/followed_fake.h"
#include "atoll/testing/recorded_metrics.h"
#include "frontends/openai/testing/routes_fixture.h"

namespace atl::frontends::openai {
namespace {

class OpenAiRoutesTest : public testing::Test {
 protected:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  test::ReceivedHttpReply ask(const std::string& method, const std::string& path, std::string body = {},
                              Headers headers = {}) {
    test::FakeHttpExchange exchange({method, path, {}, std::move(headers), std::move(body)});
    const bool is_one = path.starts_with("/v1/models/");
    exchange.send_to(*scripted.routes, is_one ? "/v1/models/*" : path);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }
  test::ReceivedHttpReply complete(const std::string& body) { return ask("POST", "/v1/completions", body); }
  test::ReceivedHttpReply chat(const std::string& more, const std::string& model = "canned") {
    return ask("POST", "/v1/chat/completions",
               cat(R"({"model":")", model, R"(","messages":[{"role":"user","content":"hi"}])", more, "}"));
  }
  /// The text of a stream's events, one a line, without what differs from call to call.
  static std::string events(std::string body) {
    std::string lines;
    for (size_t end; (end = body.find("\n\n")) != std::string::npos; body.erase(0, end + 2)) {
      std::string line = body.substr(0, end);
      if (const size_t id = line.find("\"id\":"); id != std::string::npos)
        line.erase(id, line.find("\"choices\"") - id);
      lines += line + "\n";
    }
    return lines + body;
  }

  ScriptedRoutes scripted;
};

TEST_F(OpenAiRoutesTest, ModelsWithARoleAreListed) {
  const test::ReceivedHttpReply reply = ask("GET", "/v1/models");
  EXPECT_EQ(reply.status, 200);
  std::vector<std::string> ids;
  for (size_t at = 0; (at = reply.body.find("\"id\":\"", at)) != std::string::npos;) {
    at += 6;
    ids.push_back(reply.body.substr(at, reply.body.find('"', at) - at));
  }
  EXPECT_EQ(ids,
            (std::vector<std::string>{"canned", "gpt-4o", "labels", "org/e", "plain", "ranks", "tools"}));
  EXPECT_EQ(ask("GET", "/v1/models/org%2Fe").status, 200);
  EXPECT_EQ(ask("GET", "/v1/models/org/e").status, 200);
  const test::ReceivedHttpReply none = ask("GET", "/v1/models/numbers%2Fx");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(
      none.body,
      R"({"error":{"message":"The model 'numbers/x' does not exist or is not served.","type":"not_found_error",)"
      R"("param":"model","code":"model_not_found"}})");
}

TEST_F(OpenAiRoutesTest, AChatIsAnswered) {
  const test::ReceivedHttpReply reply = chat("");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "application/json");
  EXPECT_TRUE(reply.body.starts_with(R"({"id":"chatcmpl-)")) << reply.body;
  EXPECT_NE(reply.body.find(R"("object":"chat.completion")"), std::string::npos);
  EXPECT_NE(
      reply.body.find(
          R"("choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},"logprobs":null,"finish_reason":"stop"}],)"
          R"("usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}})"),
      std::string::npos)
      << reply.body;
}

TEST_F(OpenAiRoutesTest, AChatIsStreamed) {
  const test::ReceivedHttpReply reply = chat(R"(,"stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "text/event-stream; charset=utf-8");
  const auto event = [](const std::string& delta, const std::string& reason) {
    return cat(R"(data: {"choices":[{"index":0,"delta":)", delta, R"(,"logprobs":null,"finish_reason":)",
               reason, R"(}],"usage":null})", "\n");
  };
  EXPECT_EQ(
      events(reply.body),
      event(R"({"role":"assistant","content":""})", "null") + event(R"({"content":"Hel"})", "null") +
          event(R"({"content":"lo wor"})", "null") + event(R"({"content":"ld"})", "null") +
          event("{}", "\"stop\"") +
          "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":7}}\n"
          "data: [DONE]\n");
}

TEST_F(OpenAiRoutesTest, TheUsageComesOnlyIfItIsAskedFor) {
  const std::string body = chat(R"(,"stream":true)").body;
  EXPECT_EQ(body.find("usage"), std::string::npos) << body;
  EXPECT_EQ(body.find("\"choices\":[]"), std::string::npos) << body;
}

TEST_F(OpenAiRoutesTest, TheModelIsToldWhatIsAskedFor) {
  std::vector<std::string> asked;
  scripted.canned->respond = [&](Request& request) {
    asked.push_back(text_in(request, "text_input") + text_in(request, "sampling_parameters"));
    send_piece(request, "x", 1, kFinal);
    (void)request.release().ok();
  };
  EXPECT_EQ(complete(R"({"model":"gpt-4o","prompt":["a","b"],"n":2,"seed":5,"temperature":0})").status, 200);
  EXPECT_EQ(asked, (std::vector<std::string>{R"(a{"temperature":0,"seed":5,"max_tokens":16})",
                                             R"(a{"temperature":0,"seed":6,"max_tokens":16})",
                                             R"(b{"temperature":0,"seed":5,"max_tokens":16})",
                                             R"(b{"temperature":0,"seed":6,"max_tokens":16})"}));
  asked.clear();
  EXPECT_EQ(chat("").status, 200);
  EXPECT_EQ(asked, (std::vector<std::string>{"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n{}"}));
}

TEST_F(OpenAiRoutesTest, TheEndIsSaidAsItWas) {
  EXPECT_NE(chat(R"(,"max_tokens":4)").body.find(R"("finish_reason":"length")"), std::string::npos);
  EXPECT_NE(chat(R"(,"max_tokens":5)").body.find(R"("finish_reason":"stop")"), std::string::npos);
  scripted.canned->respond = [](Request& request) {
    Response* const response = request.sink->new_response();
    add_text(*response, "text_output", "x");
    add_text(*response, "finish_reason", "length");
    response->send(kFinal);
    (void)request.release().ok();
  };
  EXPECT_NE(chat("").body.find(R"("finish_reason":"length")"), std::string::npos);
}

TEST_F(OpenAiRoutesTest, AStopStringEndsTheModelsWork) {
  bool was_cancelled = false;
  scripted.canned->respond = [&](Request& request) {
    send_piece(request, "Hello w", 1, 0);
    send_piece(request, "orld", 1, 0);
    was_cancelled = request.cancelled();
    Response* const response = request.sink->new_response();
    response->send_error(Status(Code::kCancelled, "cancelled"));
    (void)request.release().ok();
  };
  const std::string body = chat(R"(,"stop":["wor"])").body;
  EXPECT_NE(body.find(R"("content":"Hello ")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("finish_reason":"stop")"), std::string::npos) << body;
  EXPECT_TRUE(was_cancelled);
}

TEST_F(OpenAiRoutesTest, APlainModelIsAskedForNothingItCannotDo) {
  EXPECT_NE(complete(R"({"model":"plain","prompt":"say it"})").body.find(R"("text":"say it")"),
            std::string::npos);
  EXPECT_NE(complete(R"({"model":"plain","prompt":"say it","stop":"it","temperature":1})")
                .body.find(R"("text":"say ")"),
            std::string::npos);
  for (const char* const field : {"temperature", "seed", "max_tokens"}) {
    const test::ReceivedHttpReply reply = complete(cat(R"({"model":"plain","prompt":"a",")", field, "\":2}"));
    EXPECT_EQ(reply.status, 400);
    EXPECT_NE(reply.body.find(cat("\"param\":\"", field, "\"")), std::string::npos) << reply.body;
  }
}

TEST_F(OpenAiRoutesTest, WhatCannotBeAskedIsRefused) {
  EXPECT_EQ(complete(R"({"model":"none","prompt":"a"})").status, 404);
  EXPECT_EQ(complete(R"({"model":"lost","prompt":"a"})").status, 404);
  EXPECT_EQ(complete(R"({"model":"numbers","prompt":"a"})").status, 400);
  EXPECT_EQ(complete(R"({"model":"org/e","prompt":"a"})").status, 400);
  EXPECT_EQ(ask("POST", "/v1/embeddings", R"({"model":"canned","input":"a"})").status, 400);
  EXPECT_EQ(ask("POST", "/v1/completions", R"({"model":"plain","prompt":"a"})",
                {{"X-Tenant", "a"}, {"x-tenant", "b"}})
                .status,
            400);
}

TEST_F(OpenAiRoutesTest, WhatIsWrongIsNamedAsTheClientNamedIt) {
  EXPECT_NE(chat(R"(,"max_tokens":5)", "plain").body.find(R"("param":"max_tokens")"), std::string::npos);
  EXPECT_NE(chat(R"(,"max_completion_tokens":5)", "plain").body.find(R"("param":"max_completion_tokens")"),
            std::string::npos);
  EXPECT_NE(complete(R"({"model":"lost","prompt":"a"})").body.find("'gone', which 'lost' stands for"),
            std::string::npos);
  const test::ReceivedHttpReply large =
      ask("POST", "/v1/embeddings", R"({"model":"org/e","input":"a","dimensions":4})");
  EXPECT_EQ(large.status, 400);
  EXPECT_NE(large.body.find(R"("param":"dimensions")"), std::string::npos) << large.body;
  EXPECT_EQ(ask("POST", "/v1/completions", "\x1f\x8b", {{"Content-Encoding", "gzip"}}).status, 400);
}

TEST_F(OpenAiRoutesTest, AModelIsHeldOnceForEachRequest) {
  Request* held = nullptr;
  scripted.canned->respond = [&](Request& request) { held = &request; };
  test::FakeHttpExchange exchange({"POST", "/v1/completions", {}, {}, R"({"model":"canned","prompt":"a"})"});
  exchange.send_to(*scripted.routes, "/v1/completions");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(scripted.canned->references(), 1);
  send_piece(*held, "x", 1, kFinal);
  (void)held->release().ok();
  EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
}

/// Sends every request to one model.
class OneModel final : public ModelRouter {
 public:
  OneModel(test::FakeModelCatalog& catalog, std::string name) : catalog_(catalog), name_(std::move(name)) {}
  virtual ~OneModel() = default;
  std::optional<int64_t> labelled(std::string_view, std::string_view) const noexcept override { return {}; }
  Result<ModelRef> route(std::string_view, int64_t version) noexcept override {
    return catalog_.acquire(name_, version);
  }

 private:
  test::FakeModelCatalog& catalog_;
  const std::string name_;
};

class CountedTracing final : public Tracing, public Trace {
 public:
  virtual ~CountedTracing() = default;
  bool active() const noexcept override { return true; }
  Trace* start(const TraceStart& request) noexcept override {
    started.push_back(cat(request.model, " ", request.traceparent));
    ++open;
    return this;
  }
  Result<std::vector<TraceSetting>> settings(std::string_view) const noexcept override {
    return std::vector<TraceSetting>();
  }
  Status update(std::string_view, std::span<const TraceSetting>) noexcept override { return {}; }
  uint64_t id() const noexcept override { return 1; }
  void report(TraceActivity, int64_t) noexcept override {}
  void report_tensor(TraceActivity, std::string_view, DataType, std::span<const int64_t>,
                     std::span<const Buffer>) noexcept override {}
  void report_named(const char*, int64_t) noexcept override {}
  std::string_view traceparent() const noexcept override { return {}; }
  Trace* spawn_child(std::string_view, int64_t, std::string_view) noexcept override { return nullptr; }
  void release() noexcept override { --open; }
  bool wants_tensors() const noexcept override { return false; }

  std::vector<std::string> started;
  int open = 0;
};

TEST_F(OpenAiRoutesTest, RouterAndTracesAreFollowed) {
  OneModel router(scripted.catalog, "plain");
  CountedTracing tracing;
  const auto changed = [&](std::string_view interface_id) {
    test::publish_service_changed(scripted.host, interface_id, "other");
  };
  const auto asked = [&] {
    return ask("POST", "/v1/completions", R"({"model":"m","prompt":"a"})", {{"traceparent", "00-1"}}).status;
  };
  EXPECT_EQ(asked(), 404);
  scripted.host.registry().publish<ModelRouter>("other", router);
  changed(ModelRouter::kInterfaceId);
  EXPECT_EQ(asked(), 200);
  scripted.host.registry().publish<Tracing>("other", tracing);
  changed(Tracing::kInterfaceId);
  EXPECT_EQ(asked(), 200);
  EXPECT_EQ(tracing.started, (std::vector<std::string>{"plain 00-1"}));
  scripted.host.registry().withdraw(std::string(ModelRouter::kInterfaceId), "other");
  scripted.host.registry().withdraw(std::string(Tracing::kInterfaceId), "other");
  changed(ModelRouter::kInterfaceId);
  changed(Tracing::kInterfaceId);
  EXPECT_EQ(asked(), 404);
  EXPECT_EQ(tracing.started.size(), 1u);
}

TEST_F(OpenAiRoutesTest, TheTenantGoesWithTheRequest) {
  std::string tenant;
  uint32_t flags = 1;
  scripted.plain->respond = [&](Request& request) {
    tenant = request.tenant;
    flags = request.call_flags;
    send_piece(request, "", 0, kFinal);
    (void)request.release().ok();
  };
  EXPECT_EQ(
      ask("POST", "/v1/completions", R"({"model":"plain","prompt":"a"})", {{"X-Tenant", "blue"}}).status,
      200);
  EXPECT_EQ(tenant, "blue");
  EXPECT_EQ(flags, 0u) << "it is to be admitted as any client's request";
}

TEST_F(OpenAiRoutesTest, ARefusalSaysWhenToTryAgain) {
  scripted.plain->refuse = [](Request& request) {
    request.retry_after_ms = 1500;
    return Status(Code::kResourceExhausted, "quota is used up");
  };
  const test::ReceivedHttpReply reply = complete(R"({"model":"plain","prompt":["a","b"]})");
  EXPECT_EQ(reply.status, 429);
  EXPECT_NE(reply.body.find(R"("message":"quota is used up","type":"rate_limit_error")"), std::string::npos)
      << reply.body;
  EXPECT_EQ(reply.headers, (Headers{{"retry-after-ms", "1500"}, {"Retry-After", "2"}}));
}

TEST_F(OpenAiRoutesTest, AFailureInAStreamIsItsLastEvent) {
  scripted.canned->respond = [](Request& request) {
    send_piece(request, "Hel", 1, 0);
    request.sink->new_response()->send_error(internal_error("out of order"));
    (void)request.release().ok();
  };
  const test::ReceivedHttpReply reply = chat(R"(,"stream":true)");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body.ends_with(
      "data: {\"error\":{\"message\":\"out of order\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n"))
      << reply.body;
  EXPECT_EQ(chat("").status, 500) << "before the first byte it is the answer";
}

TEST_F(OpenAiRoutesTest, AClientThatLeavesCancelsItsRequests) {
  Request* held = nullptr;
  scripted.canned->respond = [&](Request& request) { held = &request; };
  test::FakeHttpExchange exchange(
      {"POST", "/v1/completions", {}, {}, R"({"model":"canned","prompt":"a","stream":true})"});
  exchange.send_to(*scripted.routes, "/v1/completions");
  ASSERT_NE(held, nullptr);
  EXPECT_FALSE(held->cancelled());
  send_piece(*held, "some", 2, 0);
  exchange.leave();
  EXPECT_TRUE(held->cancelled());
  fail_request(*held, Status(Code::kCancelled, "cancelled"));
  EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
  EXPECT_EQ(exchange.problems(), std::vector<std::string>());
  const test::RecordedMetrics metrics(*scripted.routes);
  EXPECT_EQ(metrics.values().at("atoll_openai_generated_tokens_total{model=canned}"), 2)
      << "they were generated";
}

TEST_F(OpenAiRoutesTest, EmbeddingsComeAsNumbersOrBytes) {
  EXPECT_EQ(ask("POST", "/v1/embeddings", R"({"model":"org/e","input":["a","b"]})").body,
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[3,4,0]},)"
            R"({"object":"embedding","index":1,"embedding":[3,4,0]}],"model":"org/e",)"
            R"("usage":{"prompt_tokens":0,"total_tokens":0}})");
  const std::string bytes =
      ask("POST", "/v1/embeddings", R"({"model":"org/e","input":"a","encoding_format":"base64"})").body;
  EXPECT_NE(bytes.find(R"("embedding":"AABAQAAAgEAAAAAA")"), std::string::npos) << bytes;
  const std::string cut =
      ask("POST", "/v1/embeddings", R"({"model":"org/e","input":"a","dimensions":2})").body;
  EXPECT_NE(cut.find(R"("embedding":[0.6,0.8])"), std::string::npos) << cut;
}

TEST_F(OpenAiRoutesTest, AnEmbeddingThatIsNoNumberIsAnError) {
  scripted.embeds->respond = [](Request& request) {
    send_embedding(request, {1, std::numeric_limits<float>::quiet_NaN()});
    (void)request.release().ok();
  };
  EXPECT_EQ(ask("POST", "/v1/embeddings", R"({"model":"org/e","input":"a"})").status, 500);
}

TEST_F(OpenAiRoutesTest, UnknownFieldsAreCounted) {
  EXPECT_EQ(complete(R"({"model":"plain","prompt":"a","cat":1,"dog":2})").status, 200);
  const test::RecordedMetrics metrics(*scripted.routes);
  EXPECT_EQ(metrics.values().at("atoll_openai_unknown_fields_total"), 2);
}

TEST_F(OpenAiRoutesTest, GeneratedTextsAreCounted) {
  std::map<std::string, double> during;
  scripted.canned->respond = [&](Request& request) {
    send_piece(request, "a", 1, 0);
    send_piece(request, "b", 2, 0);
    during = test::RecordedMetrics(*scripted.routes).values();
    request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  };
  EXPECT_EQ(chat(R"(,"n":2)", "gpt-4o").status, 200);
  const std::map<std::string, double> values = test::RecordedMetrics(*scripted.routes).values();
  const auto value = [&](const std::string& name) {
    const auto found = values.find(name + "{model=canned}");
    return found == values.end() ? -1 : found->second;
  };
  EXPECT_EQ(value("atoll_openai_time_to_first_token_seconds_count"), 2);
  EXPECT_EQ(value("atoll_openai_inter_token_latency_seconds_count"), 4) << "two tokens of each second piece";
  EXPECT_EQ(value("atoll_openai_request_duration_seconds_count"), 2);
  EXPECT_EQ(value("atoll_openai_prompt_tokens_total"), 3) << "of both choices once";
  EXPECT_EQ(value("atoll_openai_generated_tokens_total"), 6);
  EXPECT_EQ(value("atoll_openai_requests_running"), 0);
  EXPECT_EQ(value("atoll_openai_requests_waiting"), 0);
  EXPECT_EQ(during.at("atoll_openai_requests_running{model=canned}"), 1);
  EXPECT_EQ(values.at("vllm:time_to_first_token_seconds_count{model_name=canned}"), 2);
  EXPECT_EQ(values.at("vllm:generation_tokens_total{model_name=canned}"), 6);
}

TEST_F(OpenAiRoutesTest, AServerThatEndsTakesNothingNew) {
  scripted.host.gate().close();
  EXPECT_EQ(complete(R"({"model":"plain","prompt":"a"})").status, 503);
}

TEST(OpenAiPings, AStreamThatIsSilentSaysThatItLives) {
  ScriptedRoutes scripted(kNsPerMs);
  Request* held = nullptr;
  scripted.tools->respond = [&](Request& request) { held = &request; };
  for (const auto& [path, body, ping] :
       {std::tuple("/v1/completions", R"({"model":"tools","prompt":"a","stream":true})", ": ping\n\n"),
        std::tuple(
            "/v1/messages",
            R"({"model":"tools","max_tokens":5,"messages":[{"role":"user","content":"a"}],"stream":true})",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n")}) {
    test::FakeHttpExchange exchange({"POST", path, {}, {}, body});
    exchange.send_to(*scripted.routes, path);
    ASSERT_NE(held, nullptr);
    while (exchange.reply().body.find(ping) == std::string::npos) std::this_thread::yield();
    Request& request = *std::exchange(held, nullptr);
    send_piece(request, "x", 1, kFinal);
    (void)request.release().ok();
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    EXPECT_TRUE(exchange.reply().body.starts_with(ping)) << exchange.reply().body;
    EXPECT_EQ(exchange.problems(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace atl::frontends::openai
