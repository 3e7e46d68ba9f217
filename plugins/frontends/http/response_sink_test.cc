// What every sink owes, by the calls that run models, with a client behind them.
#include "atoll/testing/conformance/response_sink.h"

#include "frontends/http/testing/frontend_fixture.h"

namespace atl::test {
namespace {

class HttpCall final : public SinkUnderTest, private frontends::http::HttpFrontendTest {
 public:
  HttpCall(const std::string& endpoint, const std::string& body, bool decoupled) {
    ModelInfo info;
    info.name = "m";
    info.version = 1;
    info.decoupled = decoupled;
    info.required_inputs = 1;
    info.inputs.emplace_back();
    info.inputs[0].name = "INPUT0";
    info.inputs[0].datatype = DataType::kUint8;
    info.inputs[0].dims = {-1};
    info.outputs = info.inputs;
    info.outputs[0].name = "OUTPUT0";
    model_ = &catalog_.add(std::move(info));
    model_->respond = [this](Request& request) { held_ = &request; };
    start();
    client_.emplace(client());
    client_->send(HttpFrontendTest::request("POST", "/v2/models/m/" + endpoint, body));
    EXPECT_TRUE(frontends::eventually([this] { return held_ != nullptr; }));
  }
  Request& request() override { return *held_; }
  int ends(int expected) override {
    if (expected != 0) {
      (void)client_->receive();
      EXPECT_TRUE(frontends::eventually([this] { return calls() == 0 && model_->references() == 0; }));
    }
    return calls() == 0 ? 1 : 0;
  }

 private:
  void TestBody() override {}

  FakeServedModel* model_;
  std::atomic<Request*> held_{nullptr};
  std::optional<frontends::http::HttpClient> client_;
};

ResponseSinkProvider provider(const std::string& endpoint, const std::string& body, bool decoupled) {
  auto make = [=](std::span<char>) { return std::make_shared<HttpCall>(endpoint, body, decoupled); };
  return {endpoint,
          make,
          10,
          {unsupported("APlaceOfTheClientsIsUsedAndItsSizeKept", "needs a region; see frontends/common")}};
}

constexpr char kInfer[] = R"({"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[1],"data":[5]}]})";
constexpr char kGenerate[] = R"({"INPUT0":5})";

INSTANTIATE_TEST_SUITE_P(Http, ResponseSinkConformance,
                         ::testing::Values(provider("infer", kInfer, false),
                                           provider("generate", kGenerate, true),
                                           provider("generate_stream", kGenerate, true)));

}  // namespace
}  // namespace atl::test
