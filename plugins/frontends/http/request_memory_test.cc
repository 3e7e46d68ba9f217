// Bodies, tensors and answers count as memory of requests; what is over the limit is refused, and everything
// is given back.
#include "atoll/testing/fake_request_memory.h"
#include "compression.h"
#include "frontend_fixture.h"

namespace atl::frontends::http {
namespace {

constexpr size_t kMib = size_t{1} << 20;

class RequestMemoryTest : public FrontendTest {
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
  /// Sent as it is, with an output as it is.
  static constexpr const char* kPath = "/v2/models/m/infer";
  static std::string raw_headers() { return "Inference-Header-Content-Length: 0\r\n"; }
  static std::string head(size_t bytes, const std::string& headers = "") {
    return "POST " + std::string(kPath) + " HTTP/1.1\r\nHost: test\r\n" + raw_headers() + headers +
           "Content-Length: " + std::to_string(bytes) + "\r\n\r\n";
  }
  static void expect_refused(const Reply& reply) {
    expect_error(reply, 503, std::string(test::FakeRequestMemory::kRefusal));
    EXPECT_EQ(reply.header("retry-after"), "1");
  }

  test::FakeRequestMemory memory_;
};

TEST_F(RequestMemoryTest, CountsBodyAndAnswer) {
  start();
  const Reply reply = post(kPath, std::string(kMib, 'x'), raw_headers());
  EXPECT_EQ(reply.status, 200);
  EXPECT_GE(memory_.most_bytes(), 2 * kMib);
  EXPECT_LE(memory_.most_bytes(), 2 * kMib + 128 * 1024);
}

TEST_F(RequestMemoryTest, ABodyThatDoesNotFitIsReadOverAndTheConnectionGoesOn) {
  memory_.set_limit(kMib);
  start();
  HttpClient one = client();
  ASSERT_TRUE(one.send(head(kMib + 1) + std::string(kMib + 1, 'x')));
  expect_refused(one.receive());
  EXPECT_EQ(memory_.most_bytes(), 0u) << "it is not even begun";
  EXPECT_EQ(one.ask(head(3) + "abc").status, 200);
  expect_alive();
}

TEST_F(RequestMemoryTest, WhoAsksFirstNeedNotSendTheBody) {
  memory_.set_limit(kMib);
  start();
  HttpClient one = client();
  expect_refused(one.ask(head(kMib + 1, "Expect: 100-continue\r\n")));
}

TEST_F(RequestMemoryTest, WhatIsAnnouncedCountsAsItArrives) {
  memory_.set_limit(kMib);
  start();
  HttpClient first = client();
  HttpClient second = client();
  ASSERT_TRUE(first.send(head(600 * 1024) + std::string(20 * 1024, 'x')));
  ASSERT_TRUE(eventually([this] { return memory_.used_bytes() != 0; }));
  EXPECT_LE(memory_.used_bytes(), 64u * 1024);
  // Both are taken, as both could fit; the second one is in the way when the first one goes on.
  ASSERT_TRUE(second.send(head(900 * 1024) + std::string(800 * 1024, 'x')));
  ASSERT_TRUE(eventually([this] { return memory_.used_bytes() >= 800u * 1024; }));
  ASSERT_TRUE(first.send(std::string(580 * 1024, 'x')));
  expect_refused(first.receive());
  second.reset();
  EXPECT_TRUE(all_is_given_back()) << "of a client that has left too";
  EXPECT_EQ(first.ask(head(300 * 1024) + std::string(300 * 1024, 'x')).status, 200);
}

TEST_F(RequestMemoryTest, ChunksCountAsTheyArrive) {
  memory_.set_limit(kMib);
  start();
  HttpClient one = client();
  ASSERT_TRUE(one.send("POST " + std::string(kPath) + " HTTP/1.1\r\nHost: test\r\n" + raw_headers() +
                       "Transfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one.send("10000\r\n" + std::string(65536, 'x') + "\r\n"));
  ASSERT_TRUE(one.send("0\r\n\r\n"));
  expect_refused(one.receive());
  EXPECT_LE(memory_.most_bytes(), kMib);
  EXPECT_EQ(one.ask(head(3) + "abc").status, 200);
}

TEST_F(RequestMemoryTest, WhatIsOpenedCountsBeforeItIsFilled) {
  memory_.set_limit(8 * kMib);
  start();
  const std::string text(32 * kMib, 'x');
  const iovec part{const_cast<char*>(text.data()), text.size()};
  BodyBuffer packed;
  ASSERT_TRUE(compress(Encoding::kGzip, {&part, 1}, &packed).ok());
  expect_refused(post(kPath, std::string(packed.text()), raw_headers() + "Content-Encoding: gzip\r\n"));
  EXPECT_LE(memory_.most_bytes(), 8 * kMib);
  EXPECT_GE(memory_.most_bytes(), 2 * kMib);
  expect_alive();
}

TEST_F(RequestMemoryTest, LargeJsonCountsWhatParsingTakes) {
  memory_.set_limit(6 * kMib);
  start();
  const std::string spaces(2 * kMib, ' ');
  expect_refused(post("/v2/models/probe/infer", infer_body() + spaces));
  memory_.set_limit(0);
  EXPECT_EQ(post("/v2/models/probe/infer", infer_body() + spaces).status, 200);
  EXPECT_GE(memory_.most_bytes(), 8 * kMib);
}

TEST_F(RequestMemoryTest, AnAnswerThatDoesNotFitIsRefused) {
  memory_.set_limit(kMib);
  start();
  expect_refused(post(kPath, std::string(700 * 1024, 'x'), raw_headers()));
}

TEST_F(RequestMemoryTest, HealthAndMetadataAreAnsweredWhenNothingIsLeft) {
  memory_.set_limit(1);
  start();
  expect_refused(post(kPath, "abc", raw_headers()));
  EXPECT_EQ(get("/v2/health/live").status, 200);
  EXPECT_EQ(get("/v2/health/ready").status, 200);
  EXPECT_EQ(get("/v2/models/m").status, 200);
  EXPECT_EQ(get("/v2").status, 200);
}

TEST_F(RequestMemoryTest, GenerateCounts) {
  memory_.set_limit(kMib);
  start();
  const std::string body = R"({"INPUT0":1.5, "x":")" + std::string(2 * kMib, 'x') + "\"}";
  expect_refused(post("/v2/models/probe/generate", body));
  expect_refused(post("/v2/models/probe/generate_stream", body));
}

TEST_F(RequestMemoryTest, LoadsThatBringFilesCount) {
  memory_.set_limit(kMib);
  host_.registry().publish<ModelControl>("control", control_);
  start();
  expect_refused(post("/v2/repository/models/m/load", std::string(300 * 1024, ' ') + "{}"));
}

}  // namespace
}  // namespace atl::frontends::http
