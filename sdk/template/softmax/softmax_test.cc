/// The backend without a server: the conformance suite of its interface, and its own numbers.
#include <cmath>
#include <fstream>

#include "atoll/testing/conformance/backend.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::test {
namespace {

const std::vector<std::string> kLabels = {"cat", "dog", "bird"};

/// Keeps the plugin as long as its backend is used.
struct LoadedPlugin {
  explicit LoadedPlugin(FakeHost& host) : runner(host) {}
  PluginRunner runner;
};
std::shared_ptr<Backend> softmax(FakeHost& host) {
  auto plugin = std::make_shared<LoadedPlugin>(host);
  plugin->runner.set("temperature", "2");
  EXPECT_TRUE(is_ok(plugin->runner.create_and_start()));
  return {plugin, plugin->runner.query<Backend>()};
}

TensorSpec tensor(std::string name, DataType type, int64_t dim) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.datatype = type;
  spec.dims = {dim};
  return spec;
}

/// A model whose labels are in a folder that lives as long as the test program.
ModelSource model(const std::string& name, uint32_t max_batch_size) {
  static TemporaryDirectory folder;
  std::ofstream labels(folder.path() / "labels.txt");
  for (const std::string& label : kLabels) labels << label << '\n';
  ModelSource source;
  source.name = source.model.name = name;
  source.version = 1;
  source.version_directory = folder.path();
  source.model.max_batch_size = max_batch_size;
  source.model.inputs = {tensor("LOGITS", DataType::kFp32, 3)};
  source.model.outputs = {tensor("P", DataType::kFp32, 3), tensor("LABEL", DataType::kBytes, 1)};
  return source;
}

std::vector<int64_t> shape(bool batched, int64_t last) {
  return batched ? std::vector<int64_t>{1, last} : std::vector<int64_t>{last};
}

/// Request n asks for class n % 3.
BackendCase one_hot(const std::string& name, uint32_t max_batch_size) {
  BackendCase one;
  one.name = name;
  one.source = model(name, max_batch_size);
  one.max_batch_size = max_batch_size;
  const bool batched = max_batch_size > 0;
  one.fill = [=](TestRequest& request, uint64_t n) {
    std::vector<float> logits(3, 0.0f);
    logits[n % 3] = 2 * std::log(8.0f);  // divided by the temperature
    request.add_input("LOGITS", DataType::kFp32, shape(batched, 3), logits);
  };
  one.fill_bad = [=](TestRequest& request, uint64_t) {
    request.add_input("LOGITS", DataType::kFp32, shape(batched, 2), std::vector<float>{1, 2});
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    const ReceivedOutput *p = response.find("P"), *label = response.find("LABEL");
    if (p == nullptr || label == nullptr) return ::testing::AssertionFailure() << "an output is missing";
    if (decode_bytes_tensor(label->bytes) != std::vector{kLabels[n % 3]}) {
      return ::testing::AssertionFailure() << "wrong label";
    }
    const std::vector<float> values = values_of<float>(p->bytes);
    for (size_t i = 0; i < 3; ++i) {
      if (std::abs(values.at(i) - (i == n % 3 ? 0.8f : 0.1f)) > 1e-6f) {
        return ::testing::AssertionFailure() << "P[" << i << "] is " << values[i];
      }
    }
    return ::testing::AssertionSuccess();
  };
  return one;
}

INSTANTIATE_TEST_SUITE_P(
    Softmax, BackendConformance,
    ::testing::Values(BackendProvider{
        "softmax", softmax, {one_hot("batched", 8), one_hot("single", 0)}, InstanceKind::kCpu, {}, {}}));

TEST(SoftmaxModel, HasALabelForEachClass) {
  FakeHost host("softmax");
  std::shared_ptr<Backend> backend = softmax(host);
  ModelSource source = model("m", 0);
  source.model.inputs[0].dims = {4};
  EXPECT_TRUE(is_failure(backend->load(source), Code::kInvalidArgument, "'LOGITS' with dims [3]"));
  source.version_directory = "/nonexistent";
  EXPECT_TRUE(is_failure(backend->load(source), Code::kNotFound, "no labels in '/nonexistent/labels.txt'"));
}

TEST(SoftmaxModel, HasATemperatureThatIsANumberInItsRange) {
  FakeHost host("softmax");
  std::shared_ptr<Backend> backend = softmax(host);
  ModelSource source = model("m", 0);
  source.model.parameters["temperature"] = "0.5";
  EXPECT_TRUE(is_ok(backend->load(source)));
  source.model.parameters["temperature"] = "warm";
  EXPECT_TRUE(
      is_failure(backend->load(source), Code::kInvalidArgument,
                 "model 'm': parameter 'temperature' is 'warm', expected a number from 0.001 to 1000"));
}

}  // namespace
}  // namespace atl::test
