#include "atoll/testing/conformance/backend.h"
#include "backends/python/testing/double_models.h"

namespace atl::test {
namespace {

::testing::AssertionResult has_output(const ReceivedResponse& response, const std::string& bytes) {
  const ReceivedOutput* output = response.find("OUTPUT0");
  if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
  if (output->bytes != bytes) return ::testing::AssertionFailure() << "other bytes than were sent";
  return ::testing::AssertionSuccess();
}

BackendCase floats_case(const std::string& name, uint32_t max_batch_size, size_t count) {
  // The folder has to be there as long as the suite.
  static std::vector<std::unique_ptr<python::DoubleModel>> models;
  models.push_back(std::make_unique<python::DoubleModel>("right", DataType::kFp32, max_batch_size));
  BackendCase one;
  one.name = name;
  one.max_batch_size = max_batch_size;
  one.source = models.back()->source;
  const auto values = [count](uint64_t n) { return std::vector<float>(count, static_cast<float>(n) + 0.5f); };
  const auto add = [max_batch_size](TestRequest& request, const std::vector<float>& of) {
    std::vector<int64_t> shape = {static_cast<int64_t>(of.size())};
    if (max_batch_size != 0) shape.insert(shape.begin(), 1);
    request.add_input("INPUT0", DataType::kFp32, shape, of);
    request.add_output("OUTPUT0");
  };
  one.fill = [=](TestRequest& request, uint64_t n) { add(request, values(n)); };
  one.fill_bad = [=](TestRequest& request, uint64_t) { add(request, {-1.0f, 2.0f}); };
  one.right = [=](const ReceivedResponse& response, uint64_t n) {
    return has_output(response, bytes_of(values(n)));
  };
  return one;
}

BackendCase texts_case() {
  static const python::DoubleModel model("right", DataType::kBytes, 4);
  BackendCase one;
  one.name = "texts";
  one.max_batch_size = 4;
  one.source = model.source;
  const auto values = [](uint64_t n) {
    return std::vector<std::string>{"", cat("text ", n), std::string(300, 'x')};
  };
  one.fill = [values](TestRequest& request, uint64_t n) {
    request.add_bytes_input("INPUT0", {1, 3}, values(n));
    request.add_output("OUTPUT0");
  };
  one.right = [values](const ReceivedResponse& response, uint64_t n) {
    return has_output(response, encode_bytes_tensor(values(n)));
  };
  return one;
}

BackendProvider python_backend() {
  BackendProvider provider;
  provider.name = "python";
  provider.make = [](FakeHost& host) { return python::double_backend(host); };
  provider.cases = {floats_case("small", 0, 16), floats_case("batched", 4, 3),
                    floats_case("large", 2, 100'000), texts_case()};
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Python, BackendConformance, ::testing::Values(python_backend()));

}  // namespace
}  // namespace atl::test
