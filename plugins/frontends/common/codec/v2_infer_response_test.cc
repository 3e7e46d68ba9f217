#include "frontends/common/codec/v2_infer_response.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

constexpr uint64_t kInlineMax = 64;

OutputTensor& add_output(Response& response, const std::string& name, std::vector<int64_t> shape,
                         std::string& bytes) {
  OutputTensor& output = response.add_output(name, DataType::kUint8, shape);
  output.buffer.data = bytes.data();
  output.buffer.size_bytes = bytes.size();
  return output;
}

/// Joins the parts, checking that they are as promised.
std::string written(V2InferResponse& message, const Response& response) {
  // Exactly as large as asked for, so that a sanitizer sees a write past the end.
  auto head = std::make_unique<uint8_t[]>(message.head_bytes());
  std::string joined;
  uint64_t head_bytes = 0;
  for (const V2ResponsePart& part : message.write(head.get())) {
    if (part.tensor == nullptr) {
      head_bytes += part.bytes.size();
    } else {
      EXPECT_GT(part.bytes.size(), kInlineMax);
      EXPECT_EQ(part.bytes.data(), part.tensor->buffer.data);
      EXPECT_GE(part.tensor, response.outputs.begin());
      EXPECT_LT(part.tensor, response.outputs.end());
    }
    joined.append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
  }
  EXPECT_EQ(head_bytes, message.head_bytes());
  EXPECT_EQ(joined.size(), message.total_bytes());
  return joined;
}

TEST(V2InferResponse, IsReadBackByProtobuf) {
  Response response;
  std::string small = "small";
  std::string empty;
  std::string large(100'000, 'L');
  std::string at_limit(kInlineMax, 'a');
  std::string over_limit(kInlineMax + 1, 'b');
  add_output(response, "large", {100'000}, large);
  add_output(response, "small", {1, 5}, small);
  add_output(response, "empty", {0}, empty);
  add_output(response, "scalar", {}, at_limit);
  add_output(response, "over", {-1}, over_limit);
  Request request;
  request.id = "id 7";
  V2InferResponse message("model", "12", request, response, kInlineMax);
  inference::ModelInferResponse read;
  ASSERT_TRUE(read.ParseFromString(written(message, response)));
  EXPECT_EQ(read.model_name(), "model");
  EXPECT_EQ(read.model_version(), "12");
  EXPECT_EQ(read.id(), "id 7");
  ASSERT_EQ(read.outputs_size(), 5);
  ASSERT_EQ(read.raw_output_contents_size(), 5);
  EXPECT_EQ(read.outputs(0).name(), "large");
  EXPECT_EQ(read.outputs(1).datatype(), "UINT8");
  EXPECT_EQ(read.outputs(1).shape_size(), 2);
  EXPECT_EQ(read.outputs(3).shape_size(), 0);
  EXPECT_EQ(read.outputs(4).shape(0), -1);
  EXPECT_EQ(read.raw_output_contents(0), large);
  EXPECT_EQ(read.raw_output_contents(1), small);
  EXPECT_EQ(read.raw_output_contents(2), "");
  EXPECT_EQ(read.raw_output_contents(3), at_limit);
  EXPECT_EQ(read.raw_output_contents(4), over_limit);
}

TEST(V2InferResponse, WritesParameters) {
  Response response;
  auto add = [&](const char* key, ParameterType type) -> Parameter& {
    Parameter& parameter = response.parameters.add(response.arena());
    parameter.key = key;
    parameter.type = type;
    return parameter;
  };
  add("false", ParameterType::kBool).bool_value = false;
  add("true", ParameterType::kBool).bool_value = true;
  add("least", ParameterType::kInt).int_value = std::numeric_limits<int64_t>::min();
  add("zero", ParameterType::kInt).int_value = 0;
  add("text", ParameterType::kString).text = "value";
  add("half", ParameterType::kDouble).double_value = 0.5;
  add("bytes", ParameterType::kBytes).text = "no form on this wire";
  Request request;
  V2InferResponse message("m", "", request, response, kInlineMax);
  inference::ModelInferResponse read;
  ASSERT_TRUE(read.ParseFromString(written(message, response)));
  const auto& parameters = read.parameters();
  ASSERT_EQ(parameters.size(), 6u);
  EXPECT_TRUE(parameters.at("false").has_bool_param());
  EXPECT_FALSE(parameters.at("false").bool_param());
  EXPECT_TRUE(parameters.at("true").bool_param());
  EXPECT_EQ(parameters.at("least").int64_param(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(parameters.at("zero").has_int64_param());
  EXPECT_EQ(parameters.at("text").string_param(), "value");
  EXPECT_EQ(parameters.at("half").double_param(), 0.5);
}

TEST(V2InferResponse, AnEmptyResponseIsAnEmptyMessage) {
  Response response;
  Request request;
  V2InferResponse message("", "", request, response, kInlineMax);
  EXPECT_EQ(message.total_bytes(), 0u);
  EXPECT_EQ(written(message, response), "");
}

}  // namespace
}  // namespace atl::frontends
