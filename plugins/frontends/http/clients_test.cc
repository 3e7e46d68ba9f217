// How clients may behave: slowly (H13), going away (H14), sending without waiting for answers (H15).
#include <thread>
#include <vector>

#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class ClientsTest : public HttpFrontendTest {
 protected:
  ClientsTest() { catalog_.add_identity("probe"); }
  static std::string with_length(const std::string& length_headers) {
    return "POST /v2/models/probe/infer HTTP/1.1\r\nHost: x\r\n" + length_headers + "\r\n";
  }
};

TEST_F(ClientsTest, H13SlowClientsAreClosedAndOthersServed) {
  raise_descriptor_limit(4096);
  host_.options().set_duration_ns("header_timeout", 1000 * kNsPerMs);
  host_.options().set_duration_ns("idle_timeout", 1500 * kNsPerMs);
  start();
  std::vector<HttpClient> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(client());
    // A part of the header, a part of the body, nothing at all.
    if (i % 3 == 0) slow.back().send("POST /v2/models/probe/infer HTTP/1.1\r\nHo");
    if (i % 3 == 1) slow.back().send(with_length("Content-Length: 1000000\r\n") + "{");
  }
  std::atomic<bool> over{false};
  std::thread feeder([&] {
    // Each byte is a sign of life, but not enough of one.
    while (!over) {
      for (size_t i = 0; i < slow.size(); ++i) {
        if (i % 3 != 2) slow[i].send(" ");
      }
      std::this_thread::yield();
    }
  });
  expect_alive();
  for (HttpClient& one : slow) EXPECT_TRUE(one.closed_by_server());
  over = true;
  feeder.join();
  expect_alive();
}

TEST_F(ClientsTest, H14ClientsThatGo) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  for (int i = 0; i < 20; ++i) {
    HttpClient one = client();
    one.send(with_length("Content-Length: 100\r\n") + "{\"in");
    if (i % 2 == 0) one.reset();
  }
  for (bool reset : {false, true}) {
    const int cancelled = held.cancelled();
    HttpClient one = client();
    one.send(request("POST", "/v2/models/m/infer", infer_body()));
    Request* waiting = held.wait();
    EXPECT_FALSE(waiting->cancelled());
    if (reset) {
      one.reset();
    } else {
      one.close();
    }
    EXPECT_TRUE(eventually([&] { return held.cancelled() > cancelled; }));
    held.answer();
  }
  EXPECT_TRUE(eventually([&] { return calls() == 0 && model.references() == 0; }));
  expect_alive();
}

TEST_F(ClientsTest, H14ClientsThatGoWhileTheAnswerIsWritten) {
  test::FakeServedModel& model = catalog_.add_identity("m", DataType::kUint8);
  model.respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {30 << 20};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
    EXPECT_TRUE(response->allocate(output, 30 << 20).ok());
    std::memset(output.buffer.data, 1, output.buffer.size_bytes);
    response->send();
    (void)request.release().ok();
  };
  start();
  const std::string body =
      R"({"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[1],"data":[1]}],"parameters":{"binary_data_output":true}})";
  for (bool reset : {false, true}) {
    HttpClient one(port(), 4096);
    one.send(request("POST", "/v2/models/m/infer", body));
    ASSERT_TRUE(one.more());
    if (reset) {
      one.reset();
    } else {
      one.close();
    }
    EXPECT_TRUE(eventually([&] { return calls() == 0 && model.references() == 0; }));
  }
  expect_alive();
}

TEST_F(ClientsTest, AClientThatEndsItsSendingSideGetsWhatItAskedFor) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient quick = client();
  quick.send(request("POST", "/v2/models/probe/infer", infer_body()) + request("GET", "/v2/health/live"));
  quick.end_sending();
  EXPECT_EQ(quick.receive().body, infer_reply("probe"));
  EXPECT_EQ(quick.receive().status, 200);
  EXPECT_TRUE(quick.closed_by_server());

  // One that has to wait is asked, with an interim answer, whether it still reads. HTTP/1.0 has none.
  const std::string body = infer_body();
  for (const std::string version : {"1.1", "1.0"}) {
    HttpClient waiting = client();
    waiting.send("POST /v2/models/m/infer HTTP/" + version +
                 "\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    held.wait();
    waiting.end_sending();
    if (version == "1.1") {
      EXPECT_EQ(waiting.receive().status, 100);
    }
    held.answer();
    EXPECT_EQ(waiting.receive().body, infer_reply());
    EXPECT_TRUE(waiting.closed_by_server());
  }
  EXPECT_EQ(held.cancelled(), 0);

  HttpClient unfinished = client();
  unfinished.send("POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: 10\r\n\r\n{");
  unfinished.end_sending();
  EXPECT_TRUE(unfinished.closed_by_server());
  expect_alive();
}

TEST_F(ClientsTest, H15ManyPipelinedRequests) {
  start();
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    requests += request("POST", "/v2/models/probe/infer", infer_body(std::to_string(i), 1));
    if (i % 100 == 0) requests += request("GET", "/v2/health/live");
  }
  HttpClient one = client();
  std::thread sender([&] { one.send(requests); });
  for (int i = 0; i < 1000; ++i) {
    const Reply reply = one.receive();
    ASSERT_NE(reply.body.find("\"data\":[" + std::to_string(i) + ".0]"), std::string::npos)
        << i << reply.body;
    if (i % 100 == 0) {
      ASSERT_EQ(one.receive().body, "");
    }
  }
  sender.join();
}

TEST_F(ClientsTest, H15PipelinedRequestsWaitForAHeldOne) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient one = client();
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += request("POST", "/v2/models/m/infer", infer_body(std::to_string(i), 1));
  // More than a connection takes in while it answers.
  requests += request("POST", "/v2/models/probe/infer", infer_body() + std::string(500'000, ' '));
  std::thread sender([&] { one.send(requests); });
  for (int i = 0; i < 50; ++i) {
    held.answer();
    ASSERT_NE(one.receive().body.find("\"data\":[" + std::to_string(i) + ".0]"), std::string::npos) << i;
  }
  EXPECT_EQ(one.receive().body, infer_reply("probe"));
  sender.join();
}

TEST_F(ClientsTest, AClientThatGoesIsSeenWhereNothingMoreIsReadOfIt) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient one = client();
  one.send(request("POST", "/v2/models/m/infer", infer_body()));
  held.wait();
  // More than a connection takes in while it answers, till the sockets are full.
  const std::string further(64 * 1024, ' ');
  while (::send(one.fd(), further.data(), further.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  EXPECT_EQ(held.cancelled(), 0);
  one.reset();
  EXPECT_TRUE(eventually([&] { return held.cancelled() == 1; }));
  held.answer();
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  expect_alive();
}

}  // namespace
}  // namespace atl::frontends::http
