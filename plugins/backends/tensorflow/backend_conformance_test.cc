#include <gtest/gtest.h>

#include "atoll/testing/conformance/backend.h"
#include "backends/tensorflow/testing/tf_fixture.h"

namespace atl::test {
namespace {

::testing::AssertionResult is(const ReceivedResponse& response, const std::string& expected) {
  const ReceivedOutput* output = response.find("OUTPUT");
  if (output == nullptr) return ::testing::AssertionFailure() << "no output: " << response.message;
  if (output->bytes != expected) return ::testing::AssertionFailure() << "other bytes";
  return ::testing::AssertionSuccess();
}

/// The folder of the models and a backend that completes configurations, for the life of the process.
ModelSource add_model(const std::string& name, const std::string& saved_model) {
  static const TemporaryDirectory models;
  static RealClock clock;
  static RecordingLog log;
  static tensorflow::TfBackend backend(clock, log);
  const auto folder = models.path() / name;
  tensorflow::test::write_saved_model(folder / "1", saved_model);
  auto source = tensorflow::test::completed(
      backend, tensorflow::test::source_of(folder, tensorflow::test::config_of(cat("name: '", name, "'"))));
  EXPECT_TRUE(source.ok()) << source.status().text();
  return std::move(source).value();
}

BackendCase sums() {
  BackendCase one;
  one.name = "sums";
  one.max_batch_size = 4;
  one.source = add_model("sums", tensorflow::test::sum_model());
  one.fill = [](TestRequest& request, uint64_t n) {
    const auto x = static_cast<float>(n);
    request.add_input<float>("A", DataType::kFp32, {1, 2}, {x, x + 1});
    request.add_input<float>("B", DataType::kFp32, {1, 2}, {1, 10});
    request.add_output("OUTPUT");
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    const auto x = static_cast<float>(n);
    return is(response, bytes_of<float>({x + 1, x + 11}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("A", DataType::kFp32, {1, 2}, {1, 2});
    request.add_input<float>("B", DataType::kFp32, {1, 3}, {1, 2, 3});
    request.add_output("OUTPUT");
  };
  return one;
}

BackendCase texts() {
  BackendCase one;
  one.name = "texts";
  one.source = add_model("texts", tensorflow::test::identity_model(tensorflow::test::kText, {2}));
  const auto elements = [](uint64_t n) {
    return std::vector<std::string>{cat("text ", n), std::string(n * 100, '\0')};
  };
  one.fill = [elements](TestRequest& request, uint64_t n) {
    request.add_bytes_input("INPUT", {2}, elements(n));
    request.add_output("OUTPUT");
  };
  one.right = [elements](const ReceivedResponse& response, uint64_t n) {
    return is(response, encode_bytes_tensor(elements(n)));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_raw_input("INPUT", DataType::kBytes, {2}, "\xff\xff\xff\xff not so long");
    request.add_output("OUTPUT");
  };
  return one;
}

BackendProvider provider() {
  BackendProvider provider;
  provider.name = "tensorflow";
  provider.make = [](FakeHost& host) {
    auto backend = std::make_shared<tensorflow::TfBackend>(host.clock(), host.log());
    backend->open({tensorflow::test::library()}, {});
    return backend;
  };
  provider.cases = {sums(), texts()};
  return provider;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(TensorFlow, BackendConformance, ::testing::Values(provider()));

}  // namespace atl::test
