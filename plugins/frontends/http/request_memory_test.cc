// Bodies, tensors and answers count as memory of requests; what is over the limit is refused, and everything
// is given back.
#include <gmock/gmock.h>

#include "atoll/testing/fake_request_memory.h"
#include "frontends/common/http/compression.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMib = size_t{1} << 20;

class RequestMemoryTest : public HttpFrontendTest {
 protected:
  RequestMemoryTest() {
    host_.registry().publish<RequestMemory>("host", memory_);
    catalog_.add_identity("m", DataType::kUint8);
    catalog_.add_identity("probe");
  }
  ~RequestMemoryTest() override {
    EXPECT_TRUE(all_is_given_back());
    stop();
  }

  bool all_is_given_back() {
    return eventually([this] { return memory_.used_bytes() == 0; });
  }
  static constexpr const char* kPath = "/v2/models/m/infer";
  static std::string json(size_t tensor_bytes) {
    return R"({"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[)" + std::to_string(tensor_bytes) +
           R"(],"parameters":{"binary_data_size":)" + std::to_string(tensor_bytes) +
           R"(}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]})";
  }
  static std::string json_length(size_t tensor_bytes) {
    return "Inference-Header-Content-Length: " + std::to_string(json(tensor_bytes).size()) + "\r\n";
  }
  static std::string body(size_t tensor_bytes) { return json(tensor_bytes) + std::string(tensor_bytes, 'x'); }
  /// A tensor sent, and answered, as bytes.
  static std::string message(size_t tensor_bytes) {
    return request("POST", kPath, body(tensor_bytes), json_length(tensor_bytes));
  }
  static void expect_refused(const Reply& reply) {
    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.body, HasSubstr(test::FakeRequestMemory::kSetting));
    EXPECT_EQ(reply.header("retry-after"), "1");
  }

  test::FakeRequestMemory memory_;
};

TEST_F(RequestMemoryTest, CountsBodyAndAnswer) {
  start();
  const Reply reply = client().ask(message(kMib));
  EXPECT_EQ(reply.status, 200);
  EXPECT_GE(memory_.peak_bytes(), 2 * kMib);
  EXPECT_LE(memory_.peak_bytes(), 2 * kMib + 128 * 1024);
}

TEST_F(RequestMemoryTest, ABodyThatDoesNotFitIsReadOverAndTheConnectionGoesOn) {
  memory_.set_limit(kMib);
  start();
  HttpClient one = client();
  expect_refused(one.ask(message(kMib)));
  EXPECT_EQ(memory_.peak_bytes(), 0u) << "it is not even begun";
  EXPECT_EQ(one.ask(message(3)).status, 200);
  expect_alive();
}

TEST_F(RequestMemoryTest, WhoAsksFirstNeedNotSendTheBody) {
  memory_.set_limit(kMib);
  start();
  HttpClient one = client();
  expect_refused(one.ask("POST " + std::string(kPath) +
                         " HTTP/1.1\r\nHost: test\r\nContent-Length: 1048577\r\nExpect: "
                         "100-continue\r\n\r\n"));
}

TEST_F(RequestMemoryTest, WhatIsAnnouncedCountsAsItArrives) {
  memory_.set_limit(kMib);
  start();
  HttpClient first = client();
  HttpClient second = client();
  const std::string smaller = message(600 * 1024);
  ASSERT_TRUE(first.send(smaller.substr(0, 20 * 1024)));
  ASSERT_TRUE(eventually([this] { return memory_.used_bytes() != 0; }));
  EXPECT_LE(memory_.used_bytes(), 64u * 1024);
  // Both are taken, as both could fit; the second one is in the way when the first one goes on.
  ASSERT_TRUE(second.send(message(900 * 1024).substr(0, 801 * 1024)));
  ASSERT_TRUE(eventually([this] { return memory_.used_bytes() >= 800u * 1024; }));
  ASSERT_TRUE(first.send(smaller.substr(20 * 1024)));
  expect_refused(first.receive());
  second.reset();
  EXPECT_TRUE(all_is_given_back()) << "of a client that has left too";
  EXPECT_EQ(first.ask(message(300 * 1024)).status, 200);
}

TEST_F(RequestMemoryTest, ChunksCountAsTheyArrive) {
  memory_.set_limit(kMib);
  start();
  HttpClient one = client();
  ASSERT_TRUE(one.send("POST " + std::string(kPath) +
                       " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one.send("10000\r\n" + std::string(65536, 'x') + "\r\n"));
  ASSERT_TRUE(one.send("0\r\n\r\n"));
  expect_refused(one.receive());
  EXPECT_LE(memory_.peak_bytes(), kMib);
  EXPECT_EQ(one.ask(message(3)).status, 200);
}

TEST_F(RequestMemoryTest, WhatIsOpenedCountsBeforeItIsFilled) {
  memory_.set_limit(8 * kMib);
  start();
  const std::string text = body(32 * kMib);
  const iovec part{const_cast<char*>(text.data()), text.size()};
  BodyBuffer packed;
  ASSERT_TRUE(compress(Encoding::kGzip, {&part, 1}, &packed).ok());
  expect_refused(
      post(kPath, std::string(packed.text()), json_length(32 * kMib) + "Content-Encoding: gzip\r\n"));
  EXPECT_LE(memory_.peak_bytes(), 8 * kMib);
  EXPECT_GE(memory_.peak_bytes(), 2 * kMib);
  expect_alive();
}

TEST_F(RequestMemoryTest, LargeJsonCountsWhatParsingTakes) {
  memory_.set_limit(6 * kMib);
  start();
  const std::string spaces(2 * kMib, ' ');
  expect_refused(post("/v2/models/probe/infer", infer_body() + spaces));
  memory_.set_limit(0);
  EXPECT_EQ(post("/v2/models/probe/infer", infer_body() + spaces).status, 200);
  EXPECT_GE(memory_.peak_bytes(), 8 * kMib);
}

TEST_F(RequestMemoryTest, AnAnswerThatDoesNotFitIsRefused) {
  memory_.set_limit(kMib);
  start();
  expect_refused(client().ask(message(700 * 1024)));
}

TEST_F(RequestMemoryTest, HealthAndMetadataAreAnsweredWhenNothingIsLeft) {
  memory_.set_limit(1);
  start();
  expect_refused(client().ask(message(3)));
  EXPECT_EQ(get("/v2/health/live").status, 200);
  EXPECT_EQ(get("/v2/health/ready").status, 200);
  EXPECT_EQ(get("/v2/models/m").status, 200);
  EXPECT_EQ(get("/v2").status, 200);
}

TEST_F(RequestMemoryTest, GenerateCounts) {
  start();
  const std::string text = R"({"INPUT0":1.5, "x":")" + std::string(kMib / 2, 'x') + "\"}";
  memory_.set_limit(kMib / 2);
  expect_refused(post("/v2/models/probe/generate", text));
  expect_refused(post("/v2/models/probe/generate_stream", text));
}

TEST_F(RequestMemoryTest, LoadsThatBringFilesCount) {
  memory_.set_limit(kMib);
  host_.registry().publish<ModelControl>("control", control_);
  start();
  expect_refused(post("/v2/repository/models/m/load", std::string(300 * 1024, ' ') + "{}"));
}

}  // namespace
}  // namespace atl::frontends::http
