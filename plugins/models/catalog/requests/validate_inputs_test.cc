/// Inputs with rules of their own, from the configuration's text to the request: optional ones, ragged ones,
/// shape tensors.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/recording_sink.h"
#include "model_config.pb.h"
#include "models/catalog/loading/model_info.h"
#include "models/catalog/requests/validate.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using Shape = std::vector<int64_t>;

const std::string kNoId = "[request id: <id_unknown>] ";

ModelInfo info_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'm' " + text, &config)) << text;
  return make_model_info(config, "", 1, "/").value();
}

/// A request with FP32 inputs of these names and shapes, zeros inside.
struct Sent {
  explicit Sent(const std::vector<std::pair<std::string, Shape>>& inputs) {
    for (const auto& [name, shape] : inputs) {
      auto count = static_cast<size_t>(element_count(shape).value_or(0));
      request.add_input<float>(name, DataType::kFp32, shape, std::vector<float>(count));
    }
  }
  TestRequest request;
};

/// \returns "OK" or the refusal.
std::string checked(const ModelInfo& info, TestRequest& request) {
  return Validator(info, {}).validate(*request).text();
}
std::string checked(const ModelInfo& info, Sent sent) { return checked(info, sent.request); }

class OptionalInputs : public ::testing::Test {
 protected:
  ModelInfo info_ = info_of(R"(max_batch_size: 4 input { name: 'A' data_type: TYPE_FP32 dims: 2 }
    input { name: 'B' data_type: TYPE_FP32 dims: 1 optional: true }
    input { name: 'C' data_type: TYPE_FP32 dims: 1 optional: true })");
};

TEST_F(OptionalInputs, MayBeLeftOut) {
  EXPECT_EQ(info_.required_inputs, 1u);
  EXPECT_EQ(checked(info_, Sent({{"A", {1, 2}}})), "OK");
  Sent sent({{"C", {3, 1}}, {"A", {3, 2}}});
  ASSERT_EQ(checked(info_, sent.request), "OK");
  EXPECT_EQ(sent.request->inputs[0].spec_index, 2);
  EXPECT_EQ(sent.request->inputs[1].spec_index, 0);
  EXPECT_EQ(sent.request->batch_size, 3u);
}

TEST_F(OptionalInputs, AreCheckedByNameNotByCount) {
  const std::string range = "expected number of inputs between 1 and 3 but got ";
  EXPECT_EQ(checked(info_, Sent({{"B", {1, 1}}})),
            kNoId + range +
                "1 inputs for model 'm'. Got input(s) ['B'], but missing required input(s) "
                "['A']. Please provide all required input(s).");
  EXPECT_EQ(checked(info_, Sent({{"B", {1, 1}}, {"C", {1, 1}}})),
            kNoId + range +
                "2 inputs for model 'm'. Got input(s) ['B','C'], but missing required input(s) "
                "['A']. Please provide all required input(s).");
  EXPECT_EQ(checked(info_, Sent({{"A", {1, 2}}, {"D", {1, 1}}})),
            "unexpected inference input 'D' for model 'm'");
  EXPECT_EQ(checked(info_, Sent({{"A", {1, 2}}, {"B", {1, 1}}, {"B", {1, 1}}})),
            kNoId + "input 'B' already exists in request");
}

TEST_F(OptionalInputs, AreHeldToTheRulesWhenGiven) {
  EXPECT_EQ(checked(info_, Sent({{"A", {1, 2}}, {"B", {2, 1}}})),
            kNoId + "input 'B' batch size does not match other inputs for 'm'");
  Sent wrong_type({{"A", {1, 2}}});
  wrong_type.request.add_input<int32_t>("C", DataType::kInt32, {1, 1}, {1});
  EXPECT_EQ(checked(info_, wrong_type.request),
            kNoId + "inference input 'C' data-type is 'INT32', but model 'm' expects 'FP32'");
}

TEST(AllOptional, ARequestWithoutInputsIsOneItem) {
  ModelInfo info =
      info_of("max_batch_size: 4 input { name: 'A' data_type: TYPE_FP32 dims: 2 optional: true }");
  TestRequest request;
  ASSERT_EQ(checked(info, request), "OK");
  EXPECT_EQ(request->batch_size, 0u);
  EXPECT_EQ(request->batch_weight(), 1u);
  EXPECT_EQ(checked(info, Sent({{"A", {1, 2}}, {"B", {1, 2}}})),
            kNoId +
                "expected number of inputs between 0 and 1 but got 2 inputs for model 'm'. Got "
                "input(s) ['A','B'], but the model has no input(s) ['B'].");
}

TEST(RaggedInputs, HaveTheShapeTheirConfigurationSays) {
  ModelInfo info = info_of(R"(max_batch_size: 4
    input { name: 'A' data_type: TYPE_FP32 dims: [ -1, 2 ] allow_ragged_batch: true })");
  EXPECT_TRUE(info.inputs[0].allow_ragged);
  for (int64_t length : {0, 1, 7}) {
    Sent sent({{"A", {2, length, 2}}});
    ASSERT_EQ(checked(info, sent.request), "OK");
    EXPECT_EQ(sent.request->batch_size, 2u);
    EXPECT_THAT(sent.request->inputs[0].shape, ElementsAre(2, length, 2));
  }
  EXPECT_NE(checked(info, Sent({{"A", {1, 7, 3}}})).find("Expected [-1,-1,2], got [1,7,3]. "),
            std::string::npos);
  EXPECT_NE(checked(info, Sent({{"A", {4}}})).find("Expected [-1,-1,2], got [4]. "), std::string::npos)
      << "the flat form is the backend's, not the client's";
}

class ShapeTensors : public ::testing::Test {
 protected:
  std::string with(const Shape& shape, const std::vector<int32_t>& values) {
    Sent sent({{"A", {3, 2}}});
    sent.request.add_input<int32_t>("S", DataType::kInt32, shape, values);
    std::string text = checked(info_, sent.request);
    if (text == "OK") {
      EXPECT_EQ(sent.request->batch_size, 3u);
      EXPECT_EQ(Shape(sent.request->inputs[1].shape.begin(), sent.request->inputs[1].shape.end()), shape);
    }
    return text;
  }
  ModelInfo info_ = info_of(R"(max_batch_size: 4 input { name: 'A' data_type: TYPE_FP32 dims: 2 }
    input { name: 'S' data_type: TYPE_INT32 dims: 2 is_shape_tensor: true })");
};

TEST_F(ShapeTensors, TakeNoPartInTheBatchAndMayBeginWithItsSize) {
  EXPECT_TRUE(info_.inputs[1].shape_tensor);
  EXPECT_EQ(with({3}, {3, 4, 6}), "OK");
  EXPECT_EQ(with({2}, {4, 6}), "OK");
}

TEST_F(ShapeTensors, HaveTheirOwnShapeAndSize) {
  EXPECT_NE(
      with({4}, {3, 4, 6, 7}).find("unexpected shape for input 'S' for model 'm'. Expected [2], got [4]. "),
      std::string::npos);
  EXPECT_NE(with({3, 2}, {1, 2, 3, 4, 5, 6}).find("Expected [2], got [3,2]. "), std::string::npos);
  EXPECT_NE(with({}, {1}).find("Expected [2], got []. "), std::string::npos);
  EXPECT_EQ(with({3}, {3, 4}),
            kNoId + "input byte size mismatch for input 'S' for model 'm'. Expected 12, got 8");
}

TEST(DeviceStrings, AreCheckedWhereAPluginReachesThem) {
  const ModelInfo info = info_of("input { name: 'T' data_type: TYPE_STRING dims: -1 }");
  test::FakeDeviceMemory gpu;
  test::FakeHost host;
  host.registry().publish<Memory>("gpu", gpu, 0, Memory::kDevicesMinor);
  DeviceMemory devices(host);
  TestRequest request;
  request.add_bytes_input("T", {2}, {"one", "two"});
  auto& buffer = const_cast<Buffer&>(request->inputs[0].buffers[0]);
  buffer = gpu.make({static_cast<const char*>(buffer.data), buffer.size_bytes});
  const auto check = [&](int64_t count) {
    request->inputs[0].shape = request->arena().copy(std::span<const int64_t>(&count, 1));
    return std::string(Validator(info, {}, &devices).validate(*request).text());
  };
  EXPECT_EQ(check(3), "OK") << "only the backend can read them";
  ASSERT_TRUE(devices.open().ok());
  EXPECT_EQ(check(2), "OK");
  EXPECT_EQ(check(3), kNoId + "expected 3 string elements for inference input 'T' for model 'm', got 2");
  EXPECT_EQ(request->inputs[0].buffers[0].kind, MemoryKind::kGpu) << "they stay where they are";
  gpu.free(buffer);
}

}  // namespace
}  // namespace atl::models
