// The generate extension's request: which member becomes what.
#include <gtest/gtest.h>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

ModelInfo model(std::vector<TensorSpec> inputs, uint32_t max_batch_size = 0) {
  ModelInfo info = model_info(std::move(inputs));
  info.max_batch_size = max_batch_size;
  return info;
}

void expect_refused(std::string_view body, const ModelInfo& info, std::string_view text) {
  ReadGenerate read(body, info);
  EXPECT_EQ(read.status.code(), Code::kInvalidArgument) << body.substr(0, 200);
  EXPECT_EQ(read.status.message(), text) << body.substr(0, 200);
}

TEST(GenerateRequest, MembersAreMappedByTheModel) {
  const ModelInfo info = model({spec("PROMPT", DataType::kBytes, {1}), spec("N", DataType::kInt32, {-1}),
                                spec("inner", DataType::kFp32, {1})});
  ReadGenerate read(R"({"id":"7","PROMPT":"hello","N":[1,2,3],"stream":true,"temperature":0.5,"k":3,"s":"t",
    "sequence_id":5,"timeout":9,"triton_x":1,"parameters":{"inner":2,"more":1,"id":"x9"}})",
                    info);
  // The id of the request is a parameter already.
  EXPECT_EQ(read.status.message(),
            "Converting keyword: 'parameters': the request has the parameter 'id' twice, expected once");
  ReadGenerate good(R"({"id":"7","PROMPT":"hello","N":[1,2,3],"stream":true,"temperature":0.5,"k":3,"s":"t",
    "sequence_id":5,"timeout":9,"triton_x":1,"parameters":{"inner":2,"more":1}})",
                    info);
  ASSERT_TRUE(good.status.ok()) << good.status.text();
  const Request& request = good.request;
  EXPECT_EQ(request.id, "7");
  EXPECT_EQ(find_parameter(request, "id")->text, "7");
  ASSERT_EQ(request.inputs.size(), 3u);
  EXPECT_EQ(bytes_of(*request.find_input("PROMPT")), std::string("\5\0\0\0hello", 9));
  EXPECT_EQ(values_of<int32_t>(*request.find_input("N")), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(shape_text(request.find_input("N")->shape), "[3]");
  EXPECT_EQ(values_of<float>(*request.find_input("inner")), std::vector<float>{2});
  EXPECT_EQ(request.parameters.size(), 9u);
  EXPECT_TRUE(find_parameter(request, "stream")->bool_value);
  EXPECT_EQ(find_parameter(request, "temperature")->double_value, 0.5);
  EXPECT_EQ(find_parameter(request, "more")->int_value, 1);
  // Reserved words mean nothing here.
  EXPECT_EQ(find_parameter(request, "sequence_id")->int_value, 5);
  EXPECT_TRUE(request.sequence.empty());
  EXPECT_EQ(request.timeout_us, 0u);
  EXPECT_TRUE(request.outputs.empty());
}

TEST(GenerateRequest, ShapesFollowFromTheNumberOfElements) {
  struct Case {
    std::vector<int64_t> dims;
    uint32_t max_batch_size;
    const char* value;
    const char* shape;  ///< null: refused
  };
  for (const Case& c : {
           Case{{1}, 0, "7", "[1]"},
           Case{{1}, 0, "[7]", "[1]"},
           Case{{1}, 4, "7", "[1,1]"},
           Case{{1}, 4, "[7,8]", "[2,1]"},
           Case{{2, -1}, 0, "[1,2,3,4,5,6]", "[2,3]"},
           Case{{-1, 2, -1}, 0, "[1,2,3,4]", "[1,2,2]"},
           Case{{-1, 2}, 4, "[1,2,3,4]", "[1,2,2]"},
           Case{{-1}, 4, "[1,2,3]", "[1,3]"},
           Case{{-1}, 0, "[]", "[0]"},
           Case{{}, 0, "7", "[]"},
           Case{{0}, 0, "[]", "[0]"},
           Case{{2}, 0, "7", nullptr},
           Case{{2}, 0, "[1,2,3]", nullptr},
           Case{{2, -1}, 0, "[1,2,3]", nullptr},
           Case{{3}, 4, "[1,2]", nullptr},
           Case{{0, -1}, 0, "[1]", nullptr},
           Case{{0, -1}, 0, "[]", nullptr},
           Case{{int64_t{1} << 40, int64_t{1} << 40, -1}, 0, "[1]", nullptr},
       }) {
    const ModelInfo info = model({spec("I", DataType::kInt32, c.dims)}, c.max_batch_size);
    ReadGenerate read(cat(R"({"I":)", c.value, "}"), info);
    if (c.shape == nullptr) {
      EXPECT_EQ(read.status.message(), "The schema can not convert input 'I' to tensor with proper shape")
          << c.value;
    } else {
      ASSERT_TRUE(read.status.ok()) << c.value << ": " << read.status.text();
      EXPECT_EQ(shape_text(read.request.inputs[0].shape), c.shape) << c.value;
    }
  }
}

TEST(GenerateRequest, ShapeTensorsHaveNoBatchDimension) {
  TensorSpec shape_tensor = spec("I", DataType::kInt32, {2});
  shape_tensor.shape_tensor = true;
  ReadGenerate read(R"({"I":[1,2]})", model({shape_tensor}, 4));
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  EXPECT_EQ(shape_text(read.request.inputs[0].shape), "[2]");
}

TEST(GenerateRequest, Refusals) {
  const ModelInfo info = model({spec("I", DataType::kInt32, {-1}), spec("H", DataType::kFp16, {1})});
  expect_refused("", info, "failed to parse the request JSON buffer: The document is empty. at 0");
  expect_refused("[]", info,
                 "failed to parse the request JSON buffer: attempt to access JSON non-object as object");
  for (const char* value : {"[]", "{}", "null", "[1]"}) {
    expect_refused(cat(R"({"p":)", value, "}"), info,
                   "parameter 'p' has invalid type. It should be either 'int', 'bool', or 'string'.");
  }
  expect_refused(
      R"({"parameters":[]})", info,
      "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object");
  expect_refused(R"({"parameters":{"parameters":{"I":1}}})", info,
                 "Converting keyword: 'parameters': parameter 'parameters' has invalid type. It should be "
                 "either 'int', 'bool', or 'string'.");
  expect_refused(R"({"parameters":{}})", model({spec("parameters", DataType::kInt32, {1})}),
                 "Keyword 'parameters' for nested schema also given as input tensor name");
  expect_refused(R"({"I":1,"I":1})", info, "[request id: <id_unknown>] input 'I' already exists in request");
  expect_refused(R"({"parameters":{"I":[1,"x"]}})", info,
                 "Converting keyword: 'parameters': Unable to parse 'data': attempt to access JSON "
                 "non-signed-integer as signed-integer (input 'I')");
  expect_refused(R"({"id":"7","I":1,"parameters":{"I":1}})", info,
                 "Converting keyword: 'parameters': [request id: 7] input 'I' already exists in request");
  expect_refused(R"({"p":1,"parameters":{"p":1}})", info,
                 "Converting keyword: 'parameters': the request has the parameter 'p' twice, expected once");
  expect_refused(R"({"id":1})", info, "Unable to parse 'id': attempt to access JSON non-string as string");
  expect_refused(R"({"id":"a","id":"a"})", info, "the JSON object has the member 'id' twice, expected once");
  expect_refused(
      R"({"H":1})", info,
      "receiving FP16 data via JSON is not supported. Please use the binary data format for input H");
  expect_refused(
      R"({"I":"x"})", info,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer (input 'I')");
  expect_refused(
      R"({"I":{}})", info,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer (input 'I')");
  expect_refused(R"({"I":[[1,2]]})", info,
                 "Unable to parse 'data': Shape does not match true shape of 'data' field");
  expect_refused(R"({"I":3000000000})", info, "input 'I': 3000000000 in 'data' is out of the range of INT32");
}

TEST(GenerateRequest, AMillionKeys) {
  auto keys = [](int count) {
    std::string body = "{\"k\":0";
    for (int i = 0; i < count; ++i) body += cat(",\"key", i, "\":", i);
    return body + "}";
  };
  expect_refused(keys(50'000), model({}), "the request has more than 1024 parameters");
  expect_refused(
      keys(1'000'000), model({}),
      "the JSON has 2000003 values beside arrays of more than 1024 elements, at most 131072 are allowed");
  std::string nested = "{\"parameters\":{\"k\":0";
  for (int i = 0; i < 2000; ++i) nested += cat(",\"key", i, "\":", i);
  expect_refused(nested + "}}", model({}),
                 "Converting keyword: 'parameters': the request has more than 1024 parameters");
  expect_refused(std::string(250'000, '['), model({}),
                 "JSON nesting depth exceeds maximum allowed limit (100)");
}

TEST(GenerateRequest, ManyElements) {
  // More than the count that an array carries itself can hold.
  constexpr size_t kElements = (size_t{1} << 24) + 3;
  std::string body = "{\"I\":[1";
  for (size_t i = 1; i < kElements; ++i) body += ",1";
  ReadGenerate read(body + "]}", model({spec("I", DataType::kInt8, {-1})}));
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  EXPECT_EQ(read.request.inputs[0].size_bytes, kElements);
}

TEST(GenerateRequest, SizeLimits) {
  const ModelInfo info = model({spec("A", DataType::kFp64, {-1}), spec("B", DataType::kFp64, {-1})});
  const std::string body = R"({"A":[1,2],"B":[3]})";
  EXPECT_TRUE(ReadGenerate(body, info, {24}).status.ok());
  EXPECT_EQ(ReadGenerate(body, info, {23}).status.message(),
            "request size of 16 bytes with input 'B' of size 8 bytes exceeds the maximum allowed input size "
            "of 23. Use "
            "--http-max-input-size to increase the limit.");
  EXPECT_EQ(ReadGenerate(body, info, {18}).status.message(),
            "request JSON size of 19 bytes exceeds the maximum allowed input size of 18 bytes. Use "
            "--http-max-input-size to increase the limit.");
}

}  // namespace
}  // namespace atl::frontends::http
