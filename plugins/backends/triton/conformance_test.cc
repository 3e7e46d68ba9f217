/// The backends to copy, through the plugin.
#include "atoll/testing/conformance/backend.h"
#include "atoll/testing/fake_sequence_state.h"
#include "backends/triton/testing/triton_bench.h"

namespace atl::test {
namespace {

using triton::source_of;
using triton::TritonParts;

inference::ModelConfig config_of(const std::string& name, const std::string& backend, int max_batch_size) {
  inference::ModelConfig config;
  config.set_name(name);
  config.set_backend(backend);
  config.set_max_batch_size(max_batch_size);
  return config;
}

void add_input(inference::ModelConfig* config, const std::string& name, inference::DataType type, int dim) {
  auto* input = config->add_input();
  input->set_name(name);
  input->set_data_type(type);
  input->add_dims(dim);
}

void add_output(inference::ModelConfig* config, const std::string& name, inference::DataType type, int dim) {
  auto* output = config->add_output();
  output->set_name(name);
  output->set_data_type(type);
  output->add_dims(dim);
}

::testing::AssertionResult has(const ReceivedResponse& response, std::string_view name,
                               const std::string& bytes) {
  const ReceivedOutput* output = response.find(name);
  if (output == nullptr) return ::testing::AssertionFailure() << "no " << name;
  if (output->bytes != bytes) return ::testing::AssertionFailure() << "other bytes in " << name;
  return ::testing::AssertionSuccess();
}

BackendCase two_tensors(std::string name, int max_batch_size) {
  BackendCase one;
  one.name = std::move(name);
  one.max_batch_size = static_cast<uint32_t>(max_batch_size);
  inference::ModelConfig config = config_of(one.name, "identity", max_batch_size);
  add_input(&config, "INPUT0", inference::TYPE_FP32, -1);
  add_input(&config, "INPUT1", inference::TYPE_STRING, -1);
  add_output(&config, "OUTPUT0", inference::TYPE_FP32, -1);
  add_output(&config, "OUTPUT1", inference::TYPE_STRING, -1);
  one.source = source_of(config);
  auto numbers = [](uint64_t n) { return std::vector{1.5f, 2.5f, static_cast<float>(n)}; };
  auto texts = [](uint64_t n) {
    return std::vector<std::string>{"", cat("text ", n), std::string(300, 'x')};
  };
  one.fill = [=](TestRequest& request, uint64_t n) {
    std::vector<int64_t> shape = max_batch_size == 0 ? std::vector<int64_t>{3} : std::vector<int64_t>{1, 3};
    request.add_input("INPUT0", DataType::kFp32, shape, numbers(n));
    request.add_bytes_input("INPUT1", shape, texts(n));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) { request.add_output("NO_OUTPUT"); };
  one.right = [=](const ReceivedResponse& response, uint64_t n) {
    // Outputs may be asked for alone.
    auto first = has(response, "OUTPUT0", bytes_of(numbers(n)));
    return first ? has(response, "OUTPUT1", encode_bytes_tensor(texts(n))) : first;
  };
  return one;
}

BackendCase stream() {
  BackendCase one;
  one.name = "stream";
  inference::ModelConfig config = config_of(one.name, "repeat", 0);
  config.mutable_model_transaction_policy()->set_decoupled(true);
  add_input(&config, "IN", inference::TYPE_INT32, -1);
  add_input(&config, "DELAY_MS", inference::TYPE_INT32, 1);
  add_output(&config, "OUT", inference::TYPE_INT32, 1);
  add_output(&config, "IDX", inference::TYPE_INT32, 1);
  one.source = source_of(config);
  one.fill = [](TestRequest& request, uint64_t n) {
    request.add_input("IN", DataType::kInt32, {2}, std::vector{static_cast<int32_t>(n), 7});
    request.add_input("DELAY_MS", DataType::kInt32, {1}, std::vector<int32_t>{1});
    request.add_output("OUT");
    request.add_output("IDX");
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input("IN", DataType::kInt32, {1}, std::vector<int32_t>{1});
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    auto out = has(response, "OUT", bytes_of(std::vector{static_cast<int32_t>(n)}));
    return out ? has(response, "IDX", bytes_of(std::vector<int32_t>{0})) : out;
  };
  return one;
}

BackendProvider provider_of(const std::string& name, std::vector<BackendCase> cases) {
  BackendProvider provider;
  provider.name = name;
  provider.make = [](FakeHost& host) -> std::shared_ptr<Backend> {
    auto parts =
        std::make_shared<TritonParts>(host.log(), triton::TritonOptions{{ATOLL_EXAMPLE_BACKENDS}, {}, true});
    return {parts, &parts->backend};
  };
  provider.cases = std::move(cases);
  provider.exceptions = {
      expected_failure("AFailedOutputAllocationFailsAlone",
                       "the C API has no code for resources that are exhausted; UNAVAILABLE "
                       "comes back")};
  provider.broken = source_of("broken", "nowhere");
  return provider;
}

INSTANTIATE_TEST_SUITE_P(TritonIdentity, BackendConformance,
                         ::testing::Values(provider_of("identity", {two_tensors("single", 0),
                                                                    two_tensors("batched", 4)})));
INSTANTIATE_TEST_SUITE_P(TritonRepeat, BackendConformance,
                         ::testing::Values(provider_of("repeat", {stream()})));

TEST(TritonAccumulate, TheServerKeepsTheSum) {
  RecordingLog log;
  TritonParts parts(log, {{ATOLL_EXAMPLE_BACKENDS}, {}, true});
  auto model = parts.backend.load(source_of("m", "accumulate"));
  ASSERT_TRUE(model.ok()) << model.status().text();
  InstanceSpec spec;
  spec.name = "m_0";
  auto instance = (*model)->create_instance(spec);
  ASSERT_TRUE(instance.ok());
  FakeSequenceState state;
  state.add("SUM_IN", "SUM_OUT", {DataType::kInt32, {1}, bytes_of(std::vector<int32_t>{0})});
  int32_t sum = 0;
  for (int32_t value : {5, -2, 40}) {
    TestRequest request("r");
    request.add_input("INPUT", DataType::kInt32, {1}, std::vector{value});
    request.add_output("OUTPUT");
    state.attach(*request);
    request.mark_accepted();
    Request* requests[] = {&request.request()};
    EXPECT_TRUE((*instance)->execute({requests, 1, 0}).ok());
    ASSERT_TRUE(request.wait_done());
    sum += value;
    EXPECT_TRUE(has(request.response(), "OUTPUT", bytes_of(std::vector{sum}))) << request.response().message;
  }
}

}  // namespace
}  // namespace atl::test
