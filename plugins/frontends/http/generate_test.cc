// generate and generate_stream from the client's side.
#include <atomic>

#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class GenerateTest : public HttpFrontendTest {
 protected:
  GenerateTest() {
    ModelInfo info;
    info.name = "m";
    info.version = 1;
    info.decoupled = true;
    info.required_inputs = 1;
    info.inputs.emplace_back();
    info.inputs[0].name = "INPUT0";
    info.inputs[0].datatype = DataType::kInt32;
    info.inputs[0].dims = {-1};
    info.outputs = info.inputs;
    info.outputs[0].name = "OUTPUT0";
    model_ = &catalog_.add(std::move(info));
  }
  static void send_number(Request& request, int32_t number, uint32_t flags, size_t count = 1) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {static_cast<int64_t>(count)};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kInt32, shape);
    ASSERT_TRUE(response->allocate(output, count * 4).ok());
    for (size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char*>(output.buffer.data) + i * 4, &number, 4);
    response->send(flags);
  }
  static void end(Request& request) {
    request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  }
  static std::string event(int number) {
    return R"(data: {"OUTPUT0":)" + std::to_string(number) + R"(,"model_name":"m","model_version":"1"})" +
           "\n\n";
  }
  Reply stream(const std::string& headers = "") {
    return post("/v2/models/m/generate_stream", R"({"INPUT0":5})", headers);
  }
  Reply generate(const std::string& body = R"({"INPUT0":5})", const std::string& headers = "") {
    return post("/v2/models/m/generate", body, headers);
  }
  test::FakeServedModel* model_;
};

TEST_F(GenerateTest, OneResponse) {
  start();
  const Reply reply = generate(R"({"INPUT0":5,"id":"a"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(reply.body, R"({"OUTPUT0":5,"id":"a","model_name":"m","model_version":"1"})");
  EXPECT_EQ(generate(R"({"INPUT0":[5,6]})").body,
            R"({"OUTPUT0":[5,6],"model_name":"m","model_version":"1"})");
}

TEST_F(GenerateTest, OneResponseAndAnEmptyEnd) {
  model_->respond = [](Request& request) {
    send_number(request, 5, 0);
    end(request);
  };
  start();
  EXPECT_EQ(generate().body, R"({"OUTPUT0":5,"model_name":"m","model_version":"1"})");
}

TEST_F(GenerateTest, OtherNumbersOfResponsesAreAnError) {
  const std::string text =
      "generate expects model to produce exactly 1 response, use generate stream for model that generates "
      "various number of responses";
  int count = 0;
  model_->respond = [&](Request& request) {
    for (int i = 0; i < count; ++i) send_number(request, i, 0);
    end(request);
  };
  start();
  for (int responses : {0, 2, 100}) {
    count = responses;
    expect_error(generate(), 200, text);
  }
}

TEST_F(GenerateTest, FailuresBeforeTheModel) {
  start();
  for (const char* endpoint : {"generate", "generate_stream"}) {
    auto ask = [&](const std::string& body, const std::string& headers = "") {
      return post(std::string("/v2/models/m/") + endpoint, body, headers);
    };
    expect_error(ask(R"({"INPUT0":5})", "Content-Encoding: gzip\r\n"), 400,
                 "Unsupported content-encoding, only 'identity' is supported.");
    expect_error(ask(R"({"INPUT0":5})", "Content-Encoding: br\r\n"), 400,
                 "Unsupported content-encoding, only 'identity' is supported.");
    EXPECT_EQ(ask("").status, 400);
    EXPECT_EQ(ask("{").status, 400);
    EXPECT_EQ(ask("[]").status, 400);
    expect_error(post(std::string("/v2/models/x/") + endpoint, "{}"), 404,
                 "Request for unknown model: 'x' is not found");
    expect_error(
        post(std::string("/v2/models/m/versions/a/") + endpoint, "{}"), 400,
        "failed to get model version from specified version string 'a' (details: stol), version should be "
        "an integral value > 0");
    model_->refuse = [](Request&) { return unavailable("not now"); };
    expect_error(ask(R"({"INPUT0":5})"), 503, "not now");
    model_->refuse = nullptr;
  }
}

TEST_F(GenerateTest, HeadersBecomeParameters) {
  std::vector<std::string> seen;
  model_->respond = [&](Request& request) {
    for (const Parameter& parameter : request.parameters)
      seen.push_back(cat(parameter.key, "=", parameter.text));
    send_number(request, 5, kFinal);
    (void)request.release().ok();
  };
  host_.options().set_string("header_forward_pattern", "^x-fwd|sequence_id");
  start();
  for (bool streams : {false, true}) {
    const std::string headers = "X-Fwd-One: a b\r\nOther: c\r\nx-fwd-two: header\r\n";
    const std::string body = R"({"INPUT0":5,"x-fwd-two":"body"})";
    seen.clear();
    EXPECT_EQ(post(streams ? "/v2/models/m/generate_stream" : "/v2/models/m/generate", body, headers).status,
              200);
    EXPECT_EQ(seen, (std::vector<std::string>{"x-fwd-two=header", "X-Fwd-One=a b"}));
    expect_error(streams ? stream("Sequence_id: 5\r\n") : generate(R"({"INPUT0":5})", "Sequence_id: 5\r\n"),
                 400, "Header 'Sequence_id' is reserved for Triton usage and cannot be forwarded.");
  }
}

TEST_F(GenerateTest, AnErrorAsTheAnswer) {
  model_->respond = [](Request& request) { fail_request(request, unimplemented("not this")); };
  start();
  expect_error(generate(), 501, "not this");
  const Reply reply = stream();
  EXPECT_EQ(reply.status, 501);
  EXPECT_EQ(reply.header("content-type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(reply.body, "data: {\"error\":\"not this\"}\n\n");
}

TEST_F(GenerateTest, AStreamOfAnyLength) {
  std::atomic<int> count = 0;  // the test's thread sets it, the server's reads it
  model_->respond = [&](Request& request) {
    for (int i = 0; i < count; ++i)
      send_number(request, i, i % 2 == 0 && i + 1 == count ? uint32_t{kFinal} : 0);
    if (count % 2 == 0) request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  };
  start();
  HttpClient one = client();
  for (int responses : {0, 1, 2, 3, 100, 5001}) {
    count = responses;
    const Reply reply = one.ask(request("POST", "/v2/models/m/generate_stream", R"({"INPUT0":5})"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("transfer-encoding"), "chunked");
    EXPECT_EQ(reply.header("content-type"), "text/event-stream; charset=utf-8");
    std::string expected;
    for (int i = 0; i < responses; ++i) expected += event(i);
    EXPECT_EQ(reply.body, expected) << responses;
  }
}

TEST_F(GenerateTest, AStreamOverHttp10EndsWithTheConnection) {
  model_->respond = [&](Request& request) {
    for (int i = 0; i < 3; ++i) send_number(request, i, 0);
    end(request);
  };
  start();
  HttpClient one = client();
  one.send(
      "POST /v2/models/m/generate_stream HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 12\r\n\r\n"
      R"({"INPUT0":5})");
  const Reply reply = one.receive();
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_EQ(reply.body, event(0) + event(1) + event(2));
}

TEST_F(GenerateTest, ErrorsInsideAStreamAreEvents) {
  model_->respond = [&](Request& request) {
    send_number(request, 1, 0);
    request.sink->new_response()->send_error(internal_error("broken \"part\""), 0);
    send_number(request, 2, 0);
    end(request);
  };
  start();
  const Reply reply = stream();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, event(1) + "data: {\"error\":\"broken \\\"part\\\"\"}\n\n" + event(2));
}

TEST_F(GenerateTest, ResponsesFromOtherThreadsComeAsTheyAreMade) {
  std::atomic<Request*> held{nullptr};
  model_->respond = [&](Request& request) { held = &request; };
  start();
  HttpClient one = client();
  one.send(request("POST", "/v2/models/m/generate_stream", R"({"INPUT0":5})"));
  ASSERT_TRUE(eventually([&] { return held != nullptr; }));
  for (int i = 0; i < 5; ++i) {
    send_number(*held, i, 0);
    while (one.received().find(event(i)) == std::string::npos) ASSERT_TRUE(one.more()) << i;
  }
  EXPECT_EQ(calls(), 1);
  end(*held);
  EXPECT_TRUE(one.receive().body.ends_with(event(4)));
  EXPECT_TRUE(eventually([&] { return calls() == 0 && model_->references() == 0; }));
  EXPECT_EQ(one.ask(request("GET", "/v2/health/live")).status, 200);
}

TEST_F(GenerateTest, AClientThatGoesCancels) {
  for (bool begun : {false, true}) {
    std::atomic<Request*> held{nullptr};
    model_->respond = [&](Request& request) { held = &request; };
    if (frontend_ == nullptr) start();
    HttpClient one = client();
    one.send(request("POST", "/v2/models/m/generate_stream", R"({"INPUT0":5})"));
    ASSERT_TRUE(eventually([&] { return held != nullptr; }));
    if (begun) {
      send_number(*held, 1, 0);
      ASSERT_TRUE(one.more());
    }
    one.close();
    // Before the answer has begun the client is asked whether it is still there; after that writing finds
    // out.
    EXPECT_TRUE(eventually([&] {
      if (begun && !held.load()->cancelled()) send_number(*held, 2, 0);
      return held.load()->cancelled();
    }));
    send_number(*held, 3, 0);
    end(*held);
    EXPECT_TRUE(eventually([&] { return calls() == 0 && model_->references() == 0; }));
  }
}

TEST_F(GenerateTest, ASlowReaderGetsAllOfAStreamWithinTheBacklog) {
  constexpr int kEvents = 3000;
  std::vector<std::thread> threads;
  model_->respond = [&](Request& request) {
    threads.emplace_back([&request] {
      for (int i = 0; i < kEvents; ++i) send_number(request, i, 0, 1000);
      end(request);
    });
  };
  start();
  HttpClient slow(port(), 4096);
  slow.send(request("POST", "/v2/models/m/generate_stream", R"({"INPUT0":5})"));
  const Reply reply = slow.receive();
  EXPECT_EQ(reply.status, 200);
  size_t events = 0;
  for (size_t at = 0; (at = reply.body.find("\n\n", at)) != std::string::npos; at += 2) ++events;
  EXPECT_EQ(events, static_cast<size_t>(kEvents));
  EXPECT_EQ(reply.body.find("error"), std::string::npos);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GenerateTest, TooMuchThatWaitsCancelsAndSaysSo) {
  host_.options().set_bytes("max_stream_backlog_bytes", 1 << 20);
  std::vector<std::thread> threads;
  std::atomic<bool> cancelled{false};
  model_->respond = [&](Request& request) {
    threads.emplace_back([&] {
      while (!request.cancelled()) send_number(request, 1, 0, 1000);
      cancelled = true;
      send_number(request, 2, 0);
      end(request);
    });
  };
  start();
  HttpClient slow(port(), 4096);
  slow.send(request("POST", "/v2/models/m/generate_stream", R"({"INPUT0":5})"));
  EXPECT_TRUE(eventually([&] { return cancelled.load(); }));
  const Reply reply = slow.receive();
  EXPECT_TRUE(
      reply.body.ends_with("data: {\"error\":\"the client takes its stream too slowly: more than 1048576 "
                           "bytes wait for it, and the request was cancelled\"}\n\n"))
      << reply.body.substr(reply.body.size() - std::min<size_t>(reply.body.size(), 200));
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return calls() == 0 && model_->references() == 0; }));
  EXPECT_EQ(slow.ask(request("GET", "/v2/health/live")).status, 200);
}

TEST_F(GenerateTest, TooMuchAtOnceOnTheConnectionsOwnThread) {
  host_.options().set_bytes("max_stream_backlog_bytes", 1 << 20);
  std::atomic<bool> over{false};
  model_->respond = [&](Request& request) {
    for (int i = 0; i < 100'000 && !request.cancelled(); ++i) send_number(request, 1, 0, 1000);
    EXPECT_TRUE(request.cancelled());
    over = true;
    end(request);
  };
  start();
  HttpClient slow(port(), 4096);
  slow.send(request("POST", "/v2/models/m/generate_stream", R"({"INPUT0":5})"));
  EXPECT_TRUE(eventually([&] { return over.load(); }));
  EXPECT_NE(slow.receive().body.find("too slowly"), std::string::npos);
}

}  // namespace
}  // namespace atl::frontends::http
