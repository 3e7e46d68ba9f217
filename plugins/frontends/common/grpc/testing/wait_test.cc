// Requests that wait for their model.
#include <thread>

#include "atoll/testing/fake_model_demand.h"
#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class WaitTest : public StreamTest {
 protected:
  WaitTest() { host_.registry().publish<ModelDemand>("control", demand_); }
  ~WaitTest() override { stop(); }
  /// A request of its own thread, and its outcome.
  struct Asked {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    grpc::Status status;
    std::thread thread;
    ~Asked() { thread.join(); }
  };
  std::unique_ptr<Asked> ask(const std::string& model) {
    auto asked = std::make_unique<Asked>();
    asked->thread = std::thread(
        [this, model, &to = *asked] { to.status = infer(request(model), &to.response, &to.context); });
    return asked;
  }
  bool waits(size_t count) {
    return eventually([&] { return demand_.waiting() == count; });
  }
  test::FakeModelDemand demand_{catalog_};
};

TEST_F(WaitTest, TheModelComesAndAllAreAnswered) {
  start();
  std::vector<std::unique_ptr<Asked>> asked;
  for (int i = 0; i < 20; ++i) asked.push_back(ask("m"));
  ASSERT_TRUE(waits(20));
  test::FakeServedModel& model = catalog_.add_identity("m");
  demand_.notify();
  for (auto& one : asked) {
    one->thread.join();
    EXPECT_TRUE(one->status.ok()) << one->status.error_message();
    EXPECT_EQ(one->response.raw_output_contents(0), request("m").raw_input_contents(0));
    one->thread = std::thread([] {});
  }
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

TEST_F(WaitTest, ItMayComeBeforeTheWaitHasBegun) {
  demand_.at_once = true;
  start();
  inference::ModelInferResponse response;
  EXPECT_EQ(infer(request("m"), &response).error_code(), StatusCode::NOT_FOUND);
  catalog_.add_identity("m");
  EXPECT_TRUE(infer(request("m"), &response).ok());
}

TEST_F(WaitTest, FailuresAndRefusalsAreAnswers) {
  start();
  {
    auto asked = ask("m");
    ASSERT_TRUE(waits(1));
    demand_.fail(Code::kUnavailable, "no weights");
    asked->thread.join();
    EXPECT_EQ(asked->status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(asked->status.error_message(), "no weights");
    asked->thread = std::thread([] {});
  }
  demand_.refuse = [](const WantedModel&) { return unavailable("too many wait"); };
  inference::ModelInferResponse response;
  EXPECT_EQ(infer(request("m"), &response).error_message(), "too many wait");
}

TEST_F(WaitTest, ACancelEndsTheWait) {
  start();
  auto asked = ask("m");
  ASSERT_TRUE(waits(1));
  asked->context.TryCancel();
  EXPECT_TRUE(eventually([&] { return demand_.cancelled() == 1; }));
  demand_.fail(Code::kCancelled, "");
  asked->thread.join();
  EXPECT_EQ(asked->status.error_code(), StatusCode::CANCELLED);
  asked->thread = std::thread([] {});
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
}

TEST_F(WaitTest, AStreamsRequestsStayInOrder) {
  catalog_.add_identity("here");
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  const char* models[] = {"here", "away", "here", "away", "nobody", "here"};
  for (size_t i = 0; i < 6; ++i) ASSERT_TRUE(stream->Write(numbered(models[i], std::to_string(i))));
  stream->WritesDone();
  EXPECT_EQ(id_of(read(*stream)), "0");
  ASSERT_TRUE(waits(1)) << "those behind are not looked at";
  catalog_.add_identity("away");
  demand_.notify();
  for (const char* id : {"1", "2", "3"}) EXPECT_EQ(id_of(read(*stream)), id);
  ASSERT_TRUE(waits(1));
  demand_.notify();
  EXPECT_NE(read(*stream).error_message().find("'nobody' is not found"), std::string::npos);
  EXPECT_EQ(id_of(read(*stream)), "5");
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(WaitTest, AStreamThatIsCancelledLeavesNothing) {
  start();
  {
    grpc::ClientContext context;
    auto stream = open(&context);
    for (size_t i = 0; i < 6; ++i) ASSERT_TRUE(stream->Write(numbered("away", std::to_string(i))));
    ASSERT_TRUE(waits(1));
    context.TryCancel();
    EXPECT_TRUE(eventually([&] { return demand_.cancelled() == 1; }));
    demand_.refuse = [](const WantedModel&) { return unavailable("gone"); };
    demand_.fail(Code::kCancelled, "");
    EXPECT_EQ(finish(*stream).error_code(), StatusCode::CANCELLED);
  }
  EXPECT_TRUE(all_gone());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
