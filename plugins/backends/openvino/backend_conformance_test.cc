#include "atoll/testing/conformance/backend.h"
#include "backends/openvino/testing/backend_fixture.h"

namespace atl::test {
namespace {

using openvino::test::write_model;

std::filesystem::path models() {
  static TemporaryDirectory folder;
  return folder.path();
}

::testing::AssertionResult is(const ReceivedResponse& response, const std::string& expected) {
  const ReceivedOutput* output = response.find("OUTPUT0");
  if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
  if (output->bytes != expected) return ::testing::AssertionFailure() << "other bytes";
  return ::testing::AssertionSuccess();
}

BackendCase sums(const std::string& name, const std::string& parameters) {
  BackendCase one;
  one.name = name;
  one.max_batch_size = 4;
  one.source = write_model(models(), name, openvino::test::kAddModel,
                           cat(openvino::test::kAddConfig, " ", parameters));
  one.fill = [](TestRequest& request, uint64_t n) {
    auto x = static_cast<float>(n);
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {x, x + 1, x + 2});
    request.add_input<float>("INPUT1", DataType::kFp32, {1, 3}, {1, 10, 100});
    request.add_output("OUTPUT0");
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    auto x = static_cast<float>(n);
    return is(response, bytes_of<float>({x + 1, x + 11, x + 102}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {-1, 2, 3});  // found out in the run
    request.add_input<float>("INPUT1", DataType::kFp32, {1, 3}, {1, 2, 3});
    request.add_output("OUTPUT0");
  };
  return one;
}

BackendCase texts() {
  BackendCase one;
  one.name = "texts";
  one.max_batch_size = 4;
  one.source = write_model(models(), "texts",
                           "<net>\ninput INPUT0 23 -1,2\noutput OUTPUT0 23 -1,2\nop identity\n</net>",
                           R"(max_batch_size: 4 input { name: 'INPUT0' data_type: TYPE_STRING dims: 2 }
                           output { name: 'OUTPUT0' data_type: TYPE_STRING dims: 2 })");
  auto elements = [](uint64_t n) {
    return std::vector<std::string>{cat("text ", n), std::string(n * 100, '\0')};
  };
  one.fill = [elements](TestRequest& request, uint64_t n) {
    request.add_bytes_input("INPUT0", {1, 2}, elements(n));
    request.add_output("OUTPUT0");
  };
  one.right = [elements](const ReceivedResponse& response, uint64_t n) {
    return is(response, encode_bytes_tensor(elements(n)));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_raw_input("INPUT0", DataType::kBytes, {1, 2}, "\xff\xff\xff\xff not so long");
    request.add_output("OUTPUT0");
  };
  return one;
}

BackendCase positions() {
  BackendCase one;
  one.name = "positions";
  one.source = write_model(models(), "positions",
                           "<net>\ninput INPUT0 9 -1\noutput OUTPUT0 10 1,-1\nop positions\n</net>",
                           R"(input { name: 'INPUT0' data_type: TYPE_INT32 dims: -1 }
                           output { name: 'OUTPUT0' data_type: TYPE_INT64 dims: [1, -1] })");
  one.fill = [](TestRequest& request, uint64_t) {
    request.add_input<int32_t>("INPUT0", DataType::kInt32, {4}, {0, 5, 0, 6});
    request.add_output("OUTPUT0");
  };
  one.right = [](const ReceivedResponse& response, uint64_t) {
    return is(response, bytes_of<int64_t>({1, 3}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<int32_t>("INPUT0", DataType::kInt32, {4}, {1, 2, 3});
    request.add_output("OUTPUT0");
  };
  return one;
}

/// With one thread in all, which is where errors of runs could be lost.
BackendProvider provider() {
  BackendProvider provider;
  provider.name = "openvino";
  provider.make = [](FakeHost& host) {
    auto backend = std::make_shared<openvino::OpenVinoBackend>(host);
    backend->set(openvino::test::settings_on_double());
    return std::shared_ptr<Backend>(backend);
  };
  const std::string one_thread = R"(parameters { key: 'INFERENCE_NUM_THREADS' value { string_value: '1' } }
                                    parameters { key: 'NUM_STREAMS' value { string_value: '1' } })";
  const std::string padded = "parameters { key: 'ENABLE_BATCH_PADDING' value { string_value: 'YES' } }";
  provider.cases = {sums("sums", ""), sums("one_thread", one_thread), sums("padded", padded), texts(),
                    positions()};
  return provider;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(OpenVino, BackendConformance, ::testing::Values(provider()));

}  // namespace atl::test
