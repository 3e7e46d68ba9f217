// Requests that wait for their model.
#include "atoll/testing/fake_model_demand.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class WaitTest : public HttpFrontendTest {
 protected:
  WaitTest() { host_.registry().publish<ModelDemand>("control", demand_); }
  ~WaitTest() override { stop(); }
  bool waits(size_t count) {
    return eventually([&] { return demand_.waiting() == count; });
  }
  test::FakeModelDemand demand_{catalog_};
};

TEST_F(WaitTest, TheModelComesAndTheHeadIsStillThere) {
  host_.options().set_string("header_forward_pattern", "x-.*");
  start();
  HttpClient one = client();
  // The next request comes while the first one waits.
  const std::string next = request("POST", "/v2/models/m/infer", infer_body());
  ASSERT_TRUE(
      one.send(request("POST", "/v2/models/m/infer", infer_body(), "X-Tag: some text\r\n") + next + next));
  ASSERT_TRUE(waits(1));
  test::FakeServedModel& model = catalog_.add_identity("m");
  std::string tag;
  model.respond = [&](Request& request) {
    for (const Parameter& parameter : request.parameters) tag += parameter.text;
    test::answer_identity(request);
    (void)request.release().ok();
  };
  demand_.notify();
  for (int i = 0; i < 3; ++i) {
    Reply reply = one.receive();
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.body, infer_reply());
  }
  EXPECT_EQ(tag, "some text");
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

TEST_F(WaitTest, GenerateWaitsToo) {
  start();
  for (const char* endpoint : {"generate", "generate_stream"}) {
    HttpClient one = client();
    ASSERT_TRUE(one.send(
        request("POST", std::string("/v2/models/") + endpoint + "/" + endpoint, R"({"INPUT0":[1,2]})")));
    ASSERT_TRUE(waits(1));
    catalog_.add_identity(endpoint);
    demand_.notify();
    Reply reply = one.receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_NE(reply.body.find(R"("OUTPUT0":[1)"), std::string::npos) << reply.body;
  }
}

TEST_F(WaitTest, FailuresAreAnswers) {
  start();
  for (const char* call : {"infer", "generate", "generate_stream"}) {
    HttpClient one = client();
    ASSERT_TRUE(one.send(request("POST", std::string("/v2/models/m/") + call, infer_body())));
    ASSERT_TRUE(waits(1));
    demand_.fail(Code::kUnavailable, "no weights");
    Reply reply = one.receive();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body, R"({"error":"no weights"})");
  }
  demand_.refuse = [](const WantedModel&) { return unavailable("too many wait"); };
  EXPECT_EQ(infer("m").body, R"({"error":"too many wait"})");
}

TEST_F(WaitTest, AClientThatLeavesEndsTheWait) {
  start();
  uint64_t left = 0;
  for (const char* call : {"infer", "generate", "generate_stream"}) {
    for (bool comes : {true, false}) {
      HttpClient one = client();
      ASSERT_TRUE(one.send(request("POST", std::string("/v2/models/m/") + call, infer_body())));
      ASSERT_TRUE(waits(1));
      one.reset();
      ++left;
      EXPECT_TRUE(eventually([&] { return demand_.cancelled() == left; }));
      if (comes) {
        catalog_.add_identity("m");
        demand_.notify();
        catalog_.unload({"m"}, [](const auto&) {});
      } else {
        demand_.fail(Code::kCancelled, "");
      }
      EXPECT_TRUE(eventually([&] { return calls() == 0; }));
    }
  }
}

TEST_F(WaitTest, TheIndexSaysThatModelsComeOnDemand) {
  catalog_.add_identity("m");
  catalog_.unload({"m"}, [](const auto&) {});
  start();
  Reply reply = post("/v2/repository/index");
  EXPECT_EQ(reply.body, R"([{"name":"m","version":"1","state":"UNAVAILABLE","reason":"loaded on demand"}])");
}

}  // namespace
}  // namespace atl::frontends::http
