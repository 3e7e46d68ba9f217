// What every sink owes, by shadows.
#include "atoll/testing/conformance/response_sink.h"

#include "routing/weighted/shadow_request.h"
#include "routing/weighted/testing/test_support.h"

namespace atl::test {
namespace {

class Shadow final : public SinkUnderTest, private routing::FourVersions {
 public:
  Shadow() {
    target_.model = "m";
    target_.version = 2;
    models[2]->respond = [this](Request& request) { held_ = &request; };
    TestRequest client;
    client.add_output("OUTPUT0");
    routing::ShadowRequest::run(
        routing::ShadowRequest::copy_of(client.request(), target_, 1, budget_, nullptr, Pass(gate_)),
        catalog);
  }
  Request& request() override { return *held_; }
  int ends(int) override { return gate_.count() == 0 ? 1 : 0; }
  std::vector<std::string> problems() override {
    std::vector<std::string> all;
    if (target_.in_flight != 0) all.emplace_back("it still counts as in flight");
    if (budget_.used_bytes() != 0) all.emplace_back("memory is still reserved");
    if (models[2]->references() != 0) all.emplace_back("the model is still held");
    return all;
  }

 private:
  Gate gate_{nullptr, nullptr};
  routing::ShadowTarget target_;
  routing::ShadowBudget budget_{1 << 24};
  Request* held_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Shadow, ResponseSinkConformance,
                         ::testing::Values(ResponseSinkProvider{
                             "shadow",
                             [](std::span<char>) { return std::make_shared<Shadow>(); },
                             100,
                             {unsupported("APlaceOfTheClientsIsUsedAndItsSizeKept",
                                          "a shadow must not write where the client reads")}}));

}  // namespace
}  // namespace atl::test
