#include <gtest/gtest.h>

#include "atoll/testing/conformance/backend.h"
#include "backends/pytorch/testing/torch_fixture.h"

namespace atl::test {
namespace {

using pytorch::test::tensor;

::testing::AssertionResult is(const ReceivedResponse& response, const std::string& expected) {
  const ReceivedOutput* output = response.find("OUTPUT__0");
  if (output == nullptr) return ::testing::AssertionFailure() << "no output: " << response.message;
  if (output->bytes != expected) return ::testing::AssertionFailure() << "other bytes";
  return ::testing::AssertionSuccess();
}

ModelSource add_model(const TemporaryDirectory& models, const std::string& name, const std::string& forward,
                      const std::string& config) {
  const auto folder = models.path() / name;
  std::filesystem::create_directories(folder / "1");
  pytorch::test::save_module(forward, folder / "1" / "model.pt");
  return pytorch::test::source_of(folder, name, config);
}

BackendCase sums(const TemporaryDirectory& models) {
  BackendCase one;
  one.name = "sums";
  one.max_batch_size = 4;
  one.source = add_model(
      models, "sums", "def forward(self, a, b):\n  return a + b",
      "max_batch_size: 4 " + tensor("input", "a") + tensor("input", "b") + tensor("output", "OUTPUT__0"));
  one.fill = [](TestRequest& request, uint64_t n) {
    const auto x = static_cast<float>(n);
    request.add_input<float>("a", DataType::kFp32, {1, 2}, {x, x + 1});
    request.add_input<float>("b", DataType::kFp32, {1, 2}, {1, 10});
    request.add_output("OUTPUT__0");
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    const auto x = static_cast<float>(n);
    return is(response, bytes_of<float>({x + 1, x + 11}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("a", DataType::kFp32, {1, 2}, {1, 2});
    request.add_input<float>("b", DataType::kFp32, {1, 3}, {1, 2, 3});
    request.add_output("OUTPUT__0");
  };
  return one;
}

BackendCase texts(const TemporaryDirectory& models) {
  BackendCase one;
  one.name = "texts";
  one.source = add_model(
      models, "texts", "def forward(self, x: List[str]):\n  return x",
      tensor("input", "x", "STRING", "dims: -1") + tensor("output", "OUTPUT__0", "STRING", "dims: -1"));
  const auto elements = [](uint64_t n) {
    return std::vector<std::string>{cat("text ", n), std::string(n * 100, 'x')};
  };
  one.fill = [elements](TestRequest& request, uint64_t n) {
    request.add_bytes_input("x", {2}, elements(n));
    request.add_output("OUTPUT__0");
  };
  one.right = [elements](const ReceivedResponse& response, uint64_t n) {
    return is(response, encode_bytes_tensor(elements(n)));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_raw_input("x", DataType::kBytes, {2}, "\xff\xff\xff\xff not so long");
    request.add_output("OUTPUT__0");
  };
  return one;
}

BackendProvider provider() {
  static const TemporaryDirectory models;
  BackendProvider provider;
  provider.name = "pytorch";
  provider.make = [](FakeHost& host) {
    auto backend = std::make_shared<pytorch::TorchBackend>(host.clock(), host.log());
    backend->open(1);
    return backend;
  };
  provider.cases = {sums(models), texts(models)};
  return provider;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(PyTorch, BackendConformance, ::testing::Values(provider()));

}  // namespace atl::test
