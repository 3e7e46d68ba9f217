#include "atoll/testing/conformance/backend.h"
#include "backends/repeat/repeat_backend.h"
#include "backends/repeat/testing/repeat_test_models.h"

namespace atl::test {
namespace {

BackendCase repeat_case(std::string name, uint32_t wait_ms) {
  BackendCase one;
  one.name = std::move(name);
  one.source = repeat::source_of(repeat::model_of(one.name));
  auto add = [wait_ms](TestRequest& request, std::vector<int32_t> values, std::vector<uint32_t> delays) {
    auto size = [](const auto& elements) { return std::vector{static_cast<int64_t>(elements.size())}; };
    request.add_input("IN", DataType::kInt32, size(values), values);
    request.add_input("DELAY", DataType::kUint32, size(delays), delays);
    request.add_input("WAIT", DataType::kUint32, {1}, std::vector<uint32_t>{wait_ms});
    request.add_output("OUT");
    request.add_output("IDX");
  };
  one.fill = [add](TestRequest& request, uint64_t n) {
    add(request, {static_cast<int32_t>(n), 7, 9}, {0, 1, 0});
  };
  one.fill_bad = [add](TestRequest& request, uint64_t) { add(request, {1, 2}, {0}); };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    const ReceivedOutput *out = response.find("OUT"), *idx = response.find("IDX");
    if (out == nullptr || idx == nullptr) return ::testing::AssertionFailure() << "an output is missing";
    if (out->bytes != bytes_of(std::vector{static_cast<int32_t>(n)}) ||
        idx->bytes != bytes_of(std::vector<uint32_t>{0})) {
      return ::testing::AssertionFailure() << "other values than were sent";
    }
    return ::testing::AssertionSuccess();
  };
  return one;
}

BackendProvider repeat_backend() {
  BackendProvider provider;
  provider.name = "repeat";
  provider.make = [](FakeHost& host) {
    return std::make_shared<repeat::RepeatBackend>(host.clock(), host.executors());
  };
  provider.cases = {repeat_case("at_once", 0), repeat_case("released_late", 3)};
  // There are no files to be missing; a model it cannot serve stands for them.
  provider.broken = provider.cases[0].source;
  provider.broken.model.inputs.clear();
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Repeat, BackendConformance, ::testing::Values(repeat_backend()));

}  // namespace
}  // namespace atl::test
