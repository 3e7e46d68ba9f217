// Requests for models that another server has: a second frontend in this process, or one that answers what a test says.
#include <atomic>

#include "frontends/common/http/compression.h"
#include "frontends/http/testing/remote_fixture.h"

namespace atl::frontends::http {
namespace {

TEST_F(RemoteModelsTest, ARequestAndItsAnswerAreTheSameAsThere) {
  there_.catalog.add_identity("m");
  start_both();
  HttpClient keeps = client();
  for (int i = 0; i < 20; ++i) {
    const Reply reply = keeps.ask(request("POST", "/v2/models/m/infer", infer_body()));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_EQ(reply.body, infer_reply());
  }
  EXPECT_TRUE(eventually([this] { return there_.frontend->calls() == 0; }));
}

TEST_F(RemoteModelsTest, BinaryTensorsGoThroughAsTheyAre) {
  there_.catalog.add_identity("m", DataType::kUint8);
  start_both();
  for (const size_t size : {1ul, 4096ul, 70'000ul, 5'000'000ul}) {
    std::string tensor(size, '\0');
    for (size_t i = 0; i < size; ++i) tensor[i] = static_cast<char>(i * 31 % 251);
    const std::string json = cat(R"({"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[)", size,
                                 R"(],"parameters":{"binary_data_size":)", size,
                                 R"(}}],"parameters":{"binary_data_output":true}})");
    const Reply reply = post("/v2/models/m/infer", json + tensor,
                             cat("Inference-Header-Content-Length: ", json.size(), "\r\n"));
    ASSERT_EQ(reply.status, 200) << reply.body;
    ASSERT_GT(reply.body.size(), size);
    EXPECT_EQ(reply.body.substr(reply.body.size() - size), tensor);
    EXPECT_EQ(reply.header("inference-header-content-length"), std::to_string(reply.body.size() - size));
    EXPECT_EQ(reply.header("content-length"), std::to_string(reply.body.size()));
  }
}

TEST_F(RemoteModelsTest, CompressedBodiesStayCompressed) {
  there_.catalog.add_identity("m");
  start_both();
  const std::string plain = infer_body();
  const iovec part{const_cast<char*>(plain.data()), plain.size()};
  BodyBuffer packed;
  ASSERT_TRUE(compress(Encoding::kGzip, {&part, 1}, &packed).ok());
  const Reply reply = post("/v2/models/m/infer", std::string(packed.text()),
                           "Content-Encoding: gzip\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-encoding"), "gzip");
}

TEST_F(RemoteModelsTest, ItsFailuresComeAsTheyAre) {
  there_.catalog.add_identity("m");
  start_both();
  const std::string wrong = R"({"inputs":[{"name":"INPUT0","datatype":"INT8","shape":[1],"data":[1]}]})";
  const Reply here = post("/v2/models/m/infer", wrong);
  const Reply there =
      HttpClient(there_.frontend->bound_port()).ask(request("POST", "/v2/models/m/infer", wrong));
  EXPECT_EQ(here.status, there.status);
  EXPECT_EQ(here.body, there.body);
  EXPECT_EQ(
      get("/v2/models/m/versions/9/ready").status,
      HttpClient(there_.frontend->bound_port()).ask(request("GET", "/v2/models/m/versions/9/ready")).status);
}

TEST_F(RemoteModelsTest, AModelOfThisServerIsAnsweredHereUnlessALeaseIsNamed) {
  const test::FakeServedModel& theirs = there_.catalog.add_identity("m");
  const test::FakeServedModel& own = catalog_.add_identity("m");
  start_both();
  EXPECT_EQ(infer("m").status, 200);
  EXPECT_EQ(own.statistics().inference_count, 1u);
  EXPECT_EQ(infer("m", "Atoll-Lease: lease-of-m\r\n").status, 200);
  EXPECT_EQ(own.statistics().inference_count, 1u);
  EXPECT_EQ(theirs.statistics().inference_count, 1u);
  expect_error(infer("m", "atoll-lease: gone\r\n"), 404, "no lease 'gone' with model 'm'");
}

TEST_F(RemoteModelsTest, WhatNobodyHasIsRefusedAsWithoutOthers) {
  start();
  expect_error(infer("unknown"), 404, "Request for unknown model: 'unknown' is not found");
  expect_error(get("/v2/models/unknown"), 404, "Request for unknown model: 'unknown' is not found");
}

TEST_F(RemoteModelsTest, OneThatIsNotReadySaysSo) {
  start_both();
  remote_.set_not_ready("lease-of-m", "m");
  expect_error(infer("m"), 503, "model 'm' is not ready: lease lease-of-m is DEPLOYING");
  EXPECT_NE(get("/v2/models/m/ready").status, 200);
}

TEST_F(RemoteModelsTest, SharedMemoryIsRefusedWhereItIsAskedForAndNowhereElse) {
  there_.catalog.add_identity("m");
  there_.catalog.add_identity("n", DataType::kBytes);
  start_both();
  const Reply refused =
      post("/v2/models/m/infer", R"({"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"parameters":)"
                                 R"({"shared_memory_region" : "r","shared_memory_byte_size":4}}]})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("does not see shared memory"), std::string::npos) << refused.body;
  const std::string text = R"("shared_memory_region","a \"shared_memory_region\": b")";
  const Reply taken =
      post("/v2/models/n/infer",
           R"({"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[2],"data":[)" + text + "]}]}");
  EXPECT_EQ(taken.status, 200) << taken.body;
}

TEST_F(RemoteModelsTest, QuestionsAboutAModelAreAnsweredThere) {
  there_.catalog.add_identity("m");
  catalog_.add_identity("own");
  start_both();
  EXPECT_EQ(get("/v2/models/m/ready").status, 200);
  EXPECT_EQ(get("/v2/models/m/versions/1/ready").status, 200);
  EXPECT_NE(get("/v2/models/m").body.find(R"("name":"m")"), std::string::npos);
  EXPECT_NE(get("/v2/models/m/stats").body.find(R"("name":"m")"), std::string::npos);
  const std::string index = post("/v2/repository/index").body;
  EXPECT_NE(index.find(R"({"name":"m","state":"READY"})"), std::string::npos) << index;
}

TEST_F(RemoteModelsTest, AServerThatHasGoneIsUnavailableAndIsFoundAgain) {
  there_.catalog.add_identity("m");
  start_both();
  HttpClient keeps = client();
  const std::string text = request("POST", "/v2/models/m/infer", infer_body());
  EXPECT_EQ(keeps.ask(text).status, 200);
  there_.stop();
  const Reply refused = keeps.ask(text);
  expect_error(refused, 503, "the server that has model 'm' has not answered: Connection refused");
  remote_.set("lease-of-m", "m", there_.start());
  EXPECT_EQ(keeps.ask(text).status, 200);
}

TEST_F(RemoteModelsTest, AClientThatGoesCancelsItsRequestThere) {
  HeldRequests held(there_.catalog.add_identity("m"));
  start_both();
  {
    HttpClient leaves = client();
    leaves.send(request("POST", "/v2/models/m/infer", infer_body()));
    held.wait();
  }
  EXPECT_TRUE(held.wait_cancelled());
  held.answer();
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteModelsTest, HeadersGoThroughButForWhatIsBetweenTwo) {
  start();
  SaysAlways other(
      "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nX-Answer: a\r\nKeep-Alive: timeout=5\r\nConnection: "
      "keep-alive\r\n\r\nok");
  remote_.set("lease-of-m", "m", other.server());
  const Reply reply = infer("m", "X-Mine: b\r\nAuthorization: Bearer c\r\nAtoll-Lease: lease-of-m\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "ok");
  EXPECT_EQ(reply.header("x-answer"), "a");
  EXPECT_EQ(reply.header("keep-alive"), "");
  const std::string sent = other.request();
  EXPECT_TRUE(sent.starts_with("POST /v2/models/m/infer HTTP/1.1\r\nHost: 127.0.0.1:")) << sent;
  EXPECT_NE(sent.find("X-Mine: b\r\n"), std::string::npos);
  EXPECT_EQ(sent.find("Bearer"), std::string::npos);
  EXPECT_EQ(sent.find("lease-of-m"), std::string::npos);
}

TEST_F(RemoteModelsTest, WhatIsNoAnswerIsAFailureAndNothingElseSuffers) {
  catalog_.add_identity("probe");
  start();
  const std::string before = "the server that has model 'm' has not answered: ";
  expect_error(ask_one_that_says(""), 503, before + "it ended the connection without an answer");
  expect_error(ask_one_that_says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), 503,
               before + "it ended the connection in the middle of its answer");
  expect_error(ask_one_that_says("\x16\x03\x01 what?\r\n\r\n"), 503,
               before + "its answer is not HTTP, or has too long a head");
  expect_error(ask_one_that_says("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"), 503,
               before + "its answer is not HTTP, or has too long a head");
  expect_error(ask_one_that_says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 503,
               before + "its answer is not HTTP, or has too long a head");
  EXPECT_EQ(ask_one_that_says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").status, 204);
  EXPECT_EQ(ask_one_that_says("HTTP/1.1 200 OK\r\n\r\nuntil its end").body, "until its end");
  const Reply cut = ask_one_that_says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  EXPECT_EQ(cut.status, 0) << "the client sees that something is missing";
  expect_alive();
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteModelsTest, AnAnswerTakesNoMemoryBeforeItIsThere) {
  start();
  const Reply reply =
      ask_one_that_says("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nbegin");
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("in the middle of its answer"), std::string::npos) << reply.body;
}

// --- streams ---

class RemoteGenerateTest : public RemoteModelsTest {
 protected:
  RemoteGenerateTest() {
    ModelInfo info;
    info.name = "g";
    info.version = 1;
    info.decoupled = true;
    info.required_inputs = 1;
    info.inputs.emplace_back();
    info.inputs[0].name = "INPUT0";
    info.inputs[0].datatype = DataType::kInt32;
    info.inputs[0].dims = {-1};
    info.outputs = info.inputs;
    info.outputs[0].name = "OUTPUT0";
    model_ = &there_.catalog.add(std::move(info));
  }
  static void send_number(Request& request, int32_t number, size_t count = 1) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {static_cast<int64_t>(count)};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kInt32, shape);
    ASSERT_TRUE(response->allocate(output, count * 4).ok());
    for (size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char*>(output.buffer.data) + i * 4, &number, 4);
    response->send(0);
  }
  static void end(Request& request) {
    request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  }
  test::FakeServedModel* model_;
};

TEST_F(RemoteGenerateTest, EventsComeAsTheyAreSent) {
  HeldRequests held(*model_);
  start_both();
  HttpClient reader = client();
  reader.send(request("POST", "/v2/models/g/generate_stream", R"({"INPUT0":5})"));
  Request* request = held.wait();
  request->cancellation.stop_listening();
  for (int i = 0; i < 5; ++i) {
    send_number(*request, i);
    const std::string expected = cat("\"OUTPUT0\":", i);
    while (reader.received().find(expected) == std::string::npos) ASSERT_TRUE(reader.more()) << i;
  }
  end(*request);
  const Reply whole = reader.receive();
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.header("content-type").starts_with("text/event-stream"));
  EXPECT_EQ(std::count(whole.body.begin(), whole.body.end(), '\n'), 10);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteGenerateTest, AClientThatDoesNotReadIsWaitedFor) {
  constexpr int kEvents = 400;
  model_->respond = [](Request& request) {
    for (int i = 0; i < kEvents; ++i) send_number(request, i, 5000);
    end(request);
  };
  there_.host.options().set_bytes("max_stream_backlog_bytes", uint64_t{1} << 30);
  start_both();
  HttpClient slow(port(), 4096);
  slow.send(request("POST", "/v2/models/g/generate_stream", R"({"INPUT0":5})"));
  const Reply whole = slow.receive();
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(std::count(whole.body.begin(), whole.body.end(), '\n'), 2 * kEvents);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteGenerateTest, AClientThatGoesEndsTheStreamThere) {
  HeldRequests held(*model_);
  start_both();
  {
    HttpClient leaves = client();
    leaves.send(request("POST", "/v2/models/g/generate_stream", R"({"INPUT0":5})"));
    send_number(*held.wait(), 1);
    ASSERT_TRUE(leaves.more());
  }
  Request* request = held.wait();
  // That it has gone shows when something is written to it.
  EXPECT_TRUE(eventually([&] {
    send_number(*request, 2);
    return held.cancelled() != 0;
  }));
  request->cancellation.stop_listening();
  end(*request);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteGenerateTest, ThisServerStopsWhileTheOtherOneAnswers) {
  HeldRequests held(*model_);
  start_both();
  HttpClient reader = client();
  reader.send(request("POST", "/v2/models/g/generate_stream", R"({"INPUT0":5})"));
  Request* request = held.wait();
  send_number(*request, 1);
  ASSERT_TRUE(reader.more());
  std::thread stopper([&] { stop(); });
  EXPECT_TRUE(held.wait_cancelled());
  request->cancellation.stop_listening();
  end(*request);
  stopper.join();
}

}  // namespace
}  // namespace atl::frontends::http
