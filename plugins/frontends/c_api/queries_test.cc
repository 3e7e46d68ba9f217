// What is asked about the server and its models.
#include <optional>
#include <thread>

#include "atoll/core/metrics_page.h"
#include "atoll/models/model_router.h"
#include "atoll/testing/fake_model_demand.h"
#include "frontends/c_api/testing/c_api_fixture.h"

namespace atl::frontends::c_api {
namespace {

constexpr int64_t kLatest = ModelCatalog::kLatest;

/// Sends what names no version to one.
class OneVersion final : public ModelRouter {
 public:
  OneVersion(ModelCatalog& catalog, int64_t version) : catalog_(catalog), version_(version) {}

  std::optional<int64_t> labelled(std::string_view, std::string_view) const noexcept override {
    return std::nullopt;
  }
  Result<ModelRef> route(std::string_view model, int64_t version) noexcept override {
    return catalog_.acquire(model, version == kLatest ? version_ : version);
  }

 private:
  ModelCatalog& catalog_;
  int64_t version_;
};

class FixedPage final : public MetricsPage {
 public:
  explicit FixedPage(std::string text) : text_(std::move(text)) {}
  Result<std::string> text() noexcept override {
    if (text_.empty()) return internal_error("a source failed");
    return text_;
  }

 private:
  std::string text_;
};

class QueriesTest : public CApiTest {
 protected:
  /// The version that answers; 0: none does.
  int64_t acquired(int64_t version) {
    Result<ModelRef> model = server_->acquire("m", version);
    return model.ok() ? (*model)->info().version : 0;
  }
};

TEST_F(QueriesTest, WithoutACatalogItDoesNotStart) {
  host_.registry().withdraw(std::string(ModelCatalog::kInterfaceId), "models");
  EXPECT_EQ(runner_.create_and_start().code(), Code::kNotFound);
}

TEST_F(QueriesTest, Acquire) {
  test::FakeServedModel& model = catalog_.add_identity("m", DataType::kFp32, 0, 2);
  catalog_.add_identity("m", DataType::kFp32, 0, 3);
  start();
  EXPECT_EQ(acquired(kLatest), 3);
  EXPECT_EQ(acquired(2), 2);
  {
    Result<ModelRef> held = server_->acquire("m", 2);
    EXPECT_EQ(model.references(), 1);
  }
  EXPECT_EQ(model.references(), 0);
  EXPECT_EQ(text_of(server_->acquire("m", 4)),
            "NOT_FOUND: Request for unknown model: 'm' version 4 is not found");
  EXPECT_EQ(text_of(server_->acquire("x", kLatest)),
            "NOT_FOUND: Request for unknown model: 'x' is not found");
  EXPECT_EQ(text_of(server_->acquire("", kLatest)), "NOT_FOUND: Request for unknown model: '' is not found");
}

TEST_F(QueriesTest, TheRouterIsFollowed) {
  for (int64_t version = 1; version <= 3; ++version) catalog_.add_identity("m", DataType::kFp32, 0, version);
  start();
  OneVersion first(catalog_, 1), second(catalog_, 2);
  put<ModelRouter>(first);
  EXPECT_EQ(acquired(kLatest), 1);
  EXPECT_EQ(acquired(3), 3);
  put<ModelRouter>(second);
  EXPECT_EQ(acquired(kLatest), 2);
  take_away<ModelRouter>();
  EXPECT_EQ(acquired(kLatest), 3);
}

TEST_F(QueriesTest, AModelThatIsLoadedOnDemandIsWaitedFor) {
  test::FakeModelDemand demand(catalog_);
  put<ModelDemand>(demand);
  start();
  EXPECT_EQ(demand.waiting(), 0u);
  std::string failure;
  std::thread failing([&] { failure = text_of(server_->acquire("m", kLatest)); });
  while (demand.waiting() == 0) std::this_thread::yield();
  demand.fail(Code::kUnavailable, "no weights");
  failing.join();
  EXPECT_EQ(failure, "UNAVAILABLE: no weights");
  int64_t version = 0;
  std::thread waiting([&] { version = acquired(kLatest); });
  while (demand.waiting() == 0) std::this_thread::yield();
  catalog_.add_identity("m", DataType::kFp32, 0, 3);
  demand.notify();
  waiting.join();
  EXPECT_EQ(version, 3);
  EXPECT_EQ(acquired(3), 3) << "it is there";
  demand.refuse = [](const WantedModel& wanted) { return not_found(wanted.name, " is nowhere"); };
  EXPECT_EQ(text_of(server_->acquire("x", kLatest)), "NOT_FOUND: x is nowhere");
  EXPECT_EQ(host_.registry().holders(std::string(ModelDemand::kInterfaceId)), 0u);
}

TEST_F(QueriesTest, LivenessAndReadiness) {
  start();
  EXPECT_TRUE(server_->is_live());
  EXPECT_TRUE(server_->is_ready());
  catalog_.is_ready = false;
  EXPECT_TRUE(server_->is_live());
  EXPECT_FALSE(server_->is_ready());
  catalog_.is_live = false;
  EXPECT_FALSE(server_->is_live());
  catalog_.is_live = catalog_.is_ready = true;
  catalog_.set_exiting(true);
  EXPECT_FALSE(server_->is_live());
  EXPECT_FALSE(server_->is_ready());
}

TEST_F(QueriesTest, AModelThatNobodyKnowsIsNotReady) {
  test::FakeServedModel& model = catalog_.add_identity("m", DataType::kFp32, 0, 2);
  start();
  auto ready = [&](std::string_view name, int64_t version) {
    Result<bool> answer = server_->is_model_ready(name, version);
    EXPECT_TRUE(answer.ok()) << answer.status().text();
    return answer.ok() && *answer;
  };
  EXPECT_TRUE(ready("m", kLatest));
  EXPECT_TRUE(ready("m", 2));
  EXPECT_FALSE(ready("m", 3));
  EXPECT_FALSE(ready("x", kLatest));
  model.is_ready = false;
  EXPECT_FALSE(ready("m", kLatest));
  EXPECT_EQ(
      text_of(server_->is_model_ready("m", -2)),
      "INVALID_ARGUMENT: invalid model version specified '-2' , version should be an integral value > 0");
  catalog_.set_exiting(true);
  EXPECT_EQ(text_of(server_->is_model_ready("m", kLatest)), "UNAVAILABLE: Server exiting");
}

TEST_F(QueriesTest, Metadata) {
  catalog_.add_identity("m", DataType::kFp32, 8, 2);
  catalog_.add_identity("m", DataType::kFp32, 8, 3);
  runner_.set("server_name", "mine");
  start();
  const std::string server = server_->metadata().value();
  EXPECT_TRUE(server.starts_with(R"({"name":"mine","version":"0.0.0-test","extensions":["classification",)"))
      << server;
  const std::string rest = R"(,"platform":"identity",)"
                           R"("inputs":[{"name":"INPUT0","datatype":"FP32","shape":[-1,-1]}],)"
                           R"("outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[-1,-1]}]})";
  EXPECT_EQ(server_->model_metadata("m", kLatest).value(), R"({"name":"m","versions":["2","3"])" + rest);
  EXPECT_EQ(server_->model_metadata("m", 2).value(), R"({"name":"m","versions":["2"])" + rest);
  EXPECT_EQ(text_of(server_->model_metadata("x", kLatest)),
            "NOT_FOUND: Request for unknown model: 'x' is not found");
}

TEST_F(QueriesTest, TheNameIsTritonsUnlessOneIsGiven) {
  start();
  EXPECT_TRUE(server_->metadata().value().starts_with(R"({"name":"triton",)"));
}

TEST_F(QueriesTest, Configuration) {
  ModelInfo info;
  info.name = "m";
  info.version = 1;
  inference::ModelConfig config;
  config.set_name("m");
  config.set_max_batch_size(4);
  config.SerializeToString(&info.config);
  catalog_.add(std::move(info));
  start();
  const std::string text = server_->model_config("m", 1).value();
  EXPECT_TRUE(text.starts_with(R"({"name":"m","platform":"",)")) << text;
  EXPECT_NE(text.find(R"("max_batch_size":4)"), std::string::npos) << text;
  EXPECT_EQ(text_of(server_->model_config("m", 2)),
            "NOT_FOUND: Request for unknown model: 'm' version 2 is not found");
}

TEST_F(QueriesTest, StatisticsOfAllOrOne) {
  catalog_.add_identity("a");
  catalog_.add_identity("b");
  start();
  const std::string all = server_->statistics("", kLatest).value();
  EXPECT_TRUE(all.starts_with(R"({"model_stats":[{"name":"a","version":"1",)")) << all;
  EXPECT_NE(all.find(R"({"name":"b",)"), std::string::npos);
  EXPECT_EQ(server_->statistics("b", 1).value().find(R"("name":"a")"), std::string::npos);
  EXPECT_EQ(text_of(server_->statistics("x", kLatest)),
            "INVALID_ARGUMENT: requested model 'x' is not available");
  EXPECT_EQ(text_of(server_->statistics("b", 9)),
            "INVALID_ARGUMENT: requested model version is not available for model 'b'");
}

TEST_F(QueriesTest, StatisticsOfResponses) {
  ResponseStatistics first;
  first.compute_infer = {2, 30};
  first.empty = {1, 10};
  catalog_.add_identity("a").response_statistics = {first, {}};
  start();
  const std::string text = server_->statistics("a", 1).value();
  EXPECT_NE(text.find(R"("response_stats":{"0":{"compute_infer":{"count":2,"ns":30},)"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("empty_response":{"count":1,"ns":10},)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("1":{"compute_infer":{"count":0,"ns":0},)"), std::string::npos) << text;
}

TEST_F(QueriesTest, Index) {
  catalog_.add_identity("a");
  catalog_.add_identity("b");
  catalog_.unload({"b"}, [](const auto&) {});
  start();
  const std::string ready = R"([{"name":"a","version":"1","state":"READY"})";
  const std::string unloaded = R"(,{"name":"b","version":"1","state":"UNAVAILABLE","reason":")";
  EXPECT_EQ(server_->index(true).value(), ready + "]");
  EXPECT_EQ(server_->index(false).value(), ready + unloaded + R"(unloaded"}])");
  test::FakeModelDemand demand(catalog_);
  demand.reason = "loaded when it is asked for";
  put<ModelDemand>(demand);
  EXPECT_EQ(server_->index(false).value(), ready + unloaded + R"(loaded when it is asked for"}])");
  EXPECT_EQ(host_.registry().holders(std::string(ModelDemand::kInterfaceId)), 0u);
}

TEST_F(QueriesTest, ThePageOfMetricsIsFollowed) {
  start();
  const std::string nobody =
      "UNAVAILABLE: there is no page of metrics: no plugin provides atoll.metrics_page/1, as frontends/metrics "
      "does";
  EXPECT_EQ(text_of(server_->metrics()), nobody);
  FixedPage page("a 1\n"), broken("");
  put<MetricsPage>(page);
  EXPECT_EQ(server_->metrics().value(), "a 1\n");
  put<MetricsPage>(broken);
  EXPECT_EQ(text_of(server_->metrics()), "INTERNAL: a source failed");
  take_away<MetricsPage>();
  EXPECT_EQ(text_of(server_->metrics()), nobody);
}

TEST_F(QueriesTest, WhileItDrainsForAReplacementHoldersAreAnswered) {
  catalog_.add_identity("m");
  start();
  runner_.drain(0);
  EXPECT_TRUE(server_->is_live());
  EXPECT_TRUE(server_->acquire("m", kLatest).ok());
  EXPECT_TRUE(server_->metadata().ok());
}

TEST_F(QueriesTest, WhileTheServerExitsItIsNotLiveAndHoldersAreAnswered) {
  catalog_.add_identity("m");
  FixedPage page("a 1\n");
  host_.registry().publish<MetricsPage>("provider", page);
  start();
  catalog_.set_exiting(true);
  runner_.drain(0);
  EXPECT_FALSE(server_->is_live());
  EXPECT_FALSE(server_->is_ready());
  EXPECT_EQ(text_of(server_->is_model_ready("m", 1)), "UNAVAILABLE: Server exiting");
  EXPECT_EQ(text_of(server_->acquire("m", 1)), "UNAVAILABLE: Server exiting") << "says the catalog";
  EXPECT_TRUE(server_->statistics("m", 1).ok());
  EXPECT_TRUE(server_->index(false).ok());
  EXPECT_EQ(server_->metrics().value(), "a 1\n");
}

}  // namespace
}  // namespace atl::frontends::c_api
