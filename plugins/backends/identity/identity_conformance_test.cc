#include "atoll/testing/conformance/backend.h"
#include "backends/identity/identity_backend.h"
#include "backends/identity/testing/identity_test_models.h"

namespace atl::test {
namespace {

using identity::model_of;
using identity::source_of;

::testing::AssertionResult has(const ReceivedResponse& response, const std::string& bytes) {
  const ReceivedOutput* output = response.find("OUTPUT0");
  if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
  if (output->bytes != bytes) return ::testing::AssertionFailure() << "other bytes than were sent";
  return ::testing::AssertionSuccess();
}

BackendCase floats(std::string name, uint32_t max_batch_size) {
  BackendCase one;
  one.name = std::move(name);
  one.max_batch_size = max_batch_size;
  one.source = source_of(model_of(one.name, DataType::kFp32, {-1}, 1, max_batch_size));
  auto values = [](uint64_t n) { return std::vector{1.5f, 2.5f, static_cast<float>(n)}; };
  one.fill = [max_batch_size, values](TestRequest& request, uint64_t n) {
    std::vector<int64_t> shape = max_batch_size == 0 ? std::vector<int64_t>{3} : std::vector<int64_t>{1, 3};
    request.add_input("INPUT0", DataType::kFp32, shape, values(n));
    request.add_output("OUTPUT0");
  };
  one.right = [values](const ReceivedResponse& response, uint64_t n) {
    return has(response, bytes_of(values(n)));
  };
  return one;
}

BackendCase texts() {
  BackendCase one;
  one.name = "texts";
  one.max_batch_size = 4;
  one.source = source_of(model_of("texts", DataType::kBytes, {-1}, 1, 4));
  auto values = [](uint64_t n) {
    return std::vector<std::string>{"", cat("text ", n), std::string(300, 'x')};
  };
  one.fill = [values](TestRequest& request, uint64_t n) {
    request.add_bytes_input("INPUT0", {1, 3}, values(n));
    request.add_output("OUTPUT0");
  };
  one.right = [values](const ReceivedResponse& response, uint64_t n) {
    return has(response, encode_bytes_tensor(values(n)));
  };
  return one;
}

BackendProvider identity_backend() {
  BackendProvider provider;
  provider.name = "identity";
  provider.make = [](FakeHost& host) { return std::make_shared<identity::IdentityBackend>(host.clock()); };
  provider.cases = {floats("single", 0), floats("batched", 4), texts()};
  // There are no files to be missing; a model it cannot serve stands for them.
  provider.broken = provider.cases[0].source;
  provider.broken.model.inputs.clear();
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Identity, BackendConformance, ::testing::Values(identity_backend()));

}  // namespace
}  // namespace atl::test
