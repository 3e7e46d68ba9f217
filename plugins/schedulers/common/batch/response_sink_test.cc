// What every sink owes, by the order of responses: of a request whose turn it is.
#include "atoll/testing/conformance/response_sink.h"

#include "schedulers/common/batch/ordered_responses.h"

namespace atl::test {
namespace {

class Ordered final : public RecordedSink {
 public:
  explicit Ordered(std::span<char> place) : RecordedSink(place) {
    order_.reserve(made.request());
    given();
  }

 private:
  schedulers::OrderedResponses order_;
};

INSTANTIATE_TEST_SUITE_P(
    Ordered, ResponseSinkConformance,
    ::testing::Values(ResponseSinkProvider{
        "ordered", [](std::span<char> place) { return std::make_shared<Ordered>(place); }, 100, {}}));

}  // namespace
}  // namespace atl::test
