// The infer call from the client's side.
#include "frontends/common/http/compression.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class InferTest : public HttpFrontendTest {
 protected:
  /// JSON header, then the tensor as bytes; asks for binary output.
  static std::string binary_body(const std::string& tensor, size_t* json_bytes,
                                 const std::string& datatype = "UINT8") {
    const std::string json = R"({"inputs":[{"name":"INPUT0","datatype":")" + datatype + R"(","shape":[)" +
                             std::to_string(tensor.size()) + R"(],"parameters":{"binary_data_size":)" +
                             std::to_string(tensor.size()) +
                             R"(}}],"parameters":{"binary_data_output":true}})";
    *json_bytes = json.size();
    return json + tensor;
  }
  Reply infer_binary(const std::string& tensor, const std::string& headers = "") {
    size_t json_bytes = 0;
    const std::string body = binary_body(tensor, &json_bytes);
    return post("/v2/models/m/infer", body,
                "Inference-Header-Content-Length: " + std::to_string(json_bytes) + "\r\n" + headers);
  }
  static std::string pattern(size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 % 251);
    return bytes;
  }
};

TEST_F(InferTest, APathMayQuoteTheNamesInIt) {
  catalog_.add_identity("a \"b%");
  start();
  EXPECT_EQ(infer("a%20%22b%25").status, 200);
  EXPECT_EQ(get("/v2/models/a%20%22b%25/versions/%31/ready").status, 200);
  expect_error(infer("a%20b"), 404, "Request for unknown model: 'a b' is not found");
  expect_error(infer("a%ff"), 400, "a name in the path is not UTF-8");
  expect_error(infer("a%2Fb"), 400, "the path has a percent code that no name can have");
}

TEST_F(InferTest, JsonInJsonOut) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  start();
  const Reply reply = infer("m");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(reply.body, infer_reply());
  EXPECT_EQ(reply.header("connection"), "");
  stop();
  EXPECT_EQ(model.references(), 0);
}

TEST_F(InferTest, BinaryInBinaryOut) {
  catalog_.add_identity("m", DataType::kUint8);
  start();
  for (size_t size : {1u, 16u, 4095u, 4096u, 4097u, 70'000u, 5'000'000u}) {
    const std::string tensor = pattern(size);
    const Reply reply = infer_binary(tensor);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.header("content-type"), "application/octet-stream");
    const size_t json_bytes = std::stoul(reply.header("inference-header-content-length"));
    EXPECT_EQ(reply.body.substr(json_bytes), tensor);
    EXPECT_NE(reply.body.substr(0, json_bytes).find("\"binary_data_size\":" + std::to_string(size)),
              std::string::npos);
  }
}

TEST_F(InferTest, OneConnectionServesManyRequests) {
  catalog_.add_identity("m");
  start();
  HttpClient one = client();
  for (int i = 0; i < 200; ++i) {
    const Reply reply = one.ask(request("POST", "/v2/models/m/infer", infer_body()));
    ASSERT_EQ(reply.body, infer_reply());
  }
  EXPECT_TRUE(eventually([&] { return frontend_->holding().empty(); }));
}

TEST_F(InferTest, FailuresHaveTheProtocolsTexts) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  ModelInfo decoupled;
  decoupled.name = "decoupled";
  decoupled.version = 1;
  decoupled.decoupled = true;
  catalog_.add(decoupled);
  start();
  expect_error(infer("x"), 404, "Request for unknown model: 'x' is not found");
  expect_error(infer("m/versions/2"), 404, "Request for unknown model: 'm' version 2 is not found");
  expect_error(infer("decoupled"), 501,
               "HTTP end point doesn't support models with decoupled transaction policy");
  EXPECT_EQ(infer("m/versions/1").status, 200);
  model.refuse = [](Request&) { return invalid_argument("refused by \"validation\""); };
  expect_error(infer("m"), 400, "refused by \\\"validation\\\"");
  model.refuse = nullptr;
  model.respond = [](Request& request) { fail_request(request, internal_error("failed")); };
  expect_error(infer("m"), 500, "failed");
  model.respond = [](Request& request) { fail_request(request, Status(Code::kCancelled, "gone")); };
  expect_error(infer("m"), 400, "gone");
  model.respond = [](Request& request) {
    request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  };
  expect_error(infer("m"), 500, "expected a single response, got 0");
  catalog_.unload({"m"}, [](const auto&) {});
  expect_error(infer("m"), 404, "Request for unknown model: 'm' has no available versions");
  expect_error(infer("m/versions/1"), 503, "Request for unknown model: 'm' version 1 is not at ready state");
}

TEST_F(InferTest, AnswersFromAnotherThread) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient one = client();
  for (int i = 0; i < 20; ++i) {
    one.send(request("POST", "/v2/models/m/infer", infer_body()));
    held.answer();
    EXPECT_EQ(one.receive().body, infer_reply());
  }
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

TEST_F(InferTest, ReleaseBeforeOrAfterTheAnswerIsTheSame) {
  test::FakeServedModel& model = catalog_.add_identity("m", DataType::kUint8);
  std::vector<std::thread> threads;
  for (bool inline_answer : {true, false}) {
    model.respond = [&](Request& request) {
      auto answer = [&request] {
        ResponseSink* sink = request.sink;
        Response* response = sink->new_response();
        const int64_t shape[] = {100'000};
        OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
        EXPECT_TRUE(response->allocate(output, 100'000).ok());
        std::memset(output.buffer.data, 7, 100'000);
        (void)request.release().ok();
        response->send();
      };
      if (inline_answer) {
        answer();
      } else {
        threads.emplace_back(answer);
      }
    };
    if (frontend_ == nullptr) start();
    for (int i = 0; i < 10; ++i) {
      const Reply reply = infer_binary("x");
      EXPECT_EQ(reply.status, 200);
      EXPECT_TRUE(reply.body.ends_with(std::string(100'000, '\7')));
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

TEST_F(InferTest, ClassificationReplacesTheTensor) {
  catalog_.add_identity("m");
  start();
  const std::string outputs = R"(,"outputs":[{"name":"OUTPUT0","parameters":{"classification":2}}])";
  const Reply reply = post("/v2/models/m/infer", infer_body("1, 3, 2", 3, outputs));
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find(R"("datatype":"BYTES","shape":[2],"data":["3.000000:1","2.000000:2"])"),
            std::string::npos)
      << reply.body;
}

TEST_F(InferTest, ALargeClassificationIsSentAndItsTensorFreed) {
  catalog_.add_identity("m");
  start();
  std::string values = "0";
  for (int i = 1; i < 3000; ++i) values += "," + std::to_string(i);
  const std::string outputs =
      R"(,"outputs":[{"name":"OUTPUT0","parameters":{"classification":3000,"binary_data":true}}])";
  const Reply reply = post("/v2/models/m/infer", infer_body(values, 3000, outputs));
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("2999.000000:2999"), std::string::npos);
  EXPECT_TRUE(reply.body.ends_with("0.000000:0"));
}

TEST_F(InferTest, CompressedBothWays) {
  catalog_.add_identity("m", DataType::kUint8);
  start();
  for (Encoding encoding : {Encoding::kGzip, Encoding::kDeflate}) {
    const std::string name(encoding_name(encoding));
    for (size_t size : {1u, 100'000u}) {
      const std::string tensor = pattern(size);
      size_t json_bytes = 0;
      std::string body = binary_body(tensor, &json_bytes);
      const iovec part{body.data(), body.size()};
      BodyBuffer packed;
      ASSERT_TRUE(compress(encoding, {&part, 1}, &packed).ok());
      const Reply reply =
          post("/v2/models/m/infer", std::string(packed.text()),
               "Content-Encoding: " + name + "\r\nAccept-Encoding: " + name +
                   "\r\nInference-Header-Content-Length: " + std::to_string(json_bytes) + "\r\n");
      ASSERT_EQ(reply.status, 200) << reply.body;
      EXPECT_EQ(reply.header("content-encoding"), name);
      BodyBuffer plain;
      const auto* bytes = reinterpret_cast<const uint8_t*>(reply.body.data());
      ASSERT_TRUE(decompress({bytes, reply.body.size()}, 1 << 20, &plain).ok());
      const size_t head = std::stoul(reply.header("inference-header-content-length"));
      EXPECT_EQ(plain.text().substr(head), tensor);
    }
  }
  const Reply failure = infer("x", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(failure.status, 404);
  EXPECT_EQ(failure.header("content-encoding"), "");
}

TEST_F(InferTest, HeadersBecomeParameters) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  std::map<std::string, std::string> seen;
  model.respond = [&](Request& request) {
    for (const Parameter& parameter : request.parameters) seen[std::string(parameter.key)] = parameter.text;
    test::answer_identity(request);
    (void)request.release().ok();
  };
  host_.options().set_string("header_forward_pattern", "^x-fwd|sequence_id");
  start();
  EXPECT_EQ(infer("m", "X-Fwd-One: a b\r\nOther: c\r\nx-FWD-two: \r\n").status, 200);
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"X-Fwd-One", "a b"}, {"x-FWD-two", ""}}));
  expect_error(infer("m", "Sequence_id: 5\r\n"), 400,
               "Header 'Sequence_id' is reserved for Triton usage and cannot be forwarded.");
}

TEST_F(InferTest, AHeaderTakesThePlaceOfAParameter) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  std::vector<std::string> seen;
  model.respond = [&](Request& request) {
    for (const Parameter& parameter : request.parameters)
      seen.push_back(cat(parameter.key, "=", parameter.text));
    test::answer_identity(request);
    (void)request.release().ok();
  };
  host_.options().set_string("header_forward_pattern", "^x-fwd");
  start();
  std::string body = infer_body("1.0", 1);
  body.insert(1, R"("parameters":{"x-fwd":7},)");
  EXPECT_EQ(post("/v2/models/m/infer", body, "x-fwd: header\r\n").status, 200);
  EXPECT_EQ(seen, std::vector<std::string>{"x-fwd=header"});
}

TEST_F(InferTest, ManyClientsAtOnceEachGetTheirOwnAnswer) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  start();
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int number = 0; number < 8; ++number) {
    clients.emplace_back([&, number] {
      HttpClient own = client();
      for (int i = 0; i < 200; ++i) {
        const std::string mark = std::to_string(number * 1000 + i) + ".0";
        const Reply reply = own.ask(request("POST", "/v2/models/m/infer", infer_body(mark, 1)));
        if (reply.body.find("\"data\":[" + mark + "]") == std::string::npos) ++wrong;
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

}  // namespace
}  // namespace atl::frontends::http
