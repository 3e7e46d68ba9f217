// The suite, run against what the SDK itself has: the recording request, and interposers before it.
#include "atoll/request/inner_request.h"
#include "atoll/request/sink_interposer.h"
#include "atoll/testing/conformance/response_sink.h"

namespace atl::test {
namespace {

std::shared_ptr<SinkUnderTest> make_recorded(std::span<char> place) {
  auto recorded = std::make_shared<RecordedSink>(place);
  recorded->given();
  return recorded;
}

class PassingSink final : public SinkInterposer {};

class Interposed final : public RecordedSink {
 public:
  explicit Interposed(std::span<char> place) : RecordedSink(place) {
    first_.interpose(made.request());
    second_.interpose(made.request());
    given();
  }

 private:
  PassingSink first_, second_;
};
std::shared_ptr<SinkUnderTest> make_interposed(std::span<char> place) {
  return std::make_shared<Interposed>(place);
}

class Inner final : public SinkUnderTest, private InnerRequest {
 public:
  explicit Inner(std::span<char> place) {
    request_.add_output().name = "OUTPUT0";
    if (!place.empty()) {
      RequestedOutput& placed = request_.add_output();
      placed.name = "PLACED";
      placed.placement.data = place.data();
      placed.placement.size_bytes = place.size();
    }
    begin();
  }
  Request& request() override { return request_; }
  int ends(int) override { return ends_; }
  std::optional<std::vector<ReceivedResponse>> received() override { return received_; }

 private:
  void on_response(Response* response, uint32_t flags) noexcept override {
    received_.push_back(ReceivedResponse::of(response, flags));
  }
  void on_end() noexcept override { ++ends_; }

  Request& request_ = InnerRequest::request;
  int ends_ = 0;
  std::vector<ReceivedResponse> received_;
};
std::shared_ptr<SinkUnderTest> make_inner(std::span<char> place) { return std::make_shared<Inner>(place); }

INSTANTIATE_TEST_SUITE_P(Sdk, ResponseSinkConformance,
                         ::testing::Values(ResponseSinkProvider{"TestRequest", make_recorded, 100, {}},
                                           ResponseSinkProvider{"SinkInterposer", make_interposed, 100, {}},
                                           ResponseSinkProvider{"InnerRequest", make_inner, 100, {}}));

}  // namespace
}  // namespace atl::test
