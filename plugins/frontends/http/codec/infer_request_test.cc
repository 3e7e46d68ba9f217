// What the JSON of an infer request means, and every way of refusing it.
#include "frontends/http/codec/infer_request.h"

#include <gtest/gtest.h>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kInput = R"({"name":"I","datatype":"INT32","shape":[2],"data":[1,2]})";

std::string with_input(std::string_view input) { return cat(R"({"inputs":[)", input, "]}"); }
std::string with_parameters(std::string_view parameters) {
  return cat(R"({"parameters":{)", parameters, R"(},"inputs":[)", kInput, "]}");
}
std::string with_output(std::string_view output) {
  return cat(R"({"inputs":[)", kInput, R"(],"outputs":[)", output, "]}");
}

void expect_refused(std::string_view body, std::string_view text, Code code = Code::kInvalidArgument) {
  ReadBody read(body);
  EXPECT_EQ(read.status.code(), code) << body.substr(0, 200);
  EXPECT_EQ(read.status.message(), text) << body.substr(0, 200);
  read.regions.release();
  EXPECT_EQ(read.shared_memory.held, 0);
}

TEST(InferRequest, EverythingIsRead) {
  ReadBody read(
      R"({"id":"7","parameters":{"sequence_id":9,"sequence_start":true,"sequence_end":false,"priority":2,
    "timeout":1000,"p":"text","i":-3,"b":true,"d":0.5,"u":18446744073709551615},
    "inputs":[{"name":"I","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4]]},
              {"data":["a","bc"],"shape":[2],"datatype":"BYTES","name":"J","parameters":{"other":null}}],
    "outputs":[{"name":"O"},{"name":"P","parameters":{"binary_data":true,"classification":3}}],"unknown":[{}]})");
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  const Request& request = read.request;
  EXPECT_EQ(request.id, "7");
  EXPECT_EQ(request.sequence.number, 9u);
  EXPECT_TRUE(request.sequence.text.empty());
  EXPECT_EQ(request.sequence_flags, static_cast<uint32_t>(kSequenceStart));
  EXPECT_EQ(request.priority, 2u);
  EXPECT_EQ(request.timeout_us, 1000u);
  ASSERT_EQ(request.parameters.size(), 5u);
  EXPECT_EQ(find_parameter(request, "p")->text, "text");
  EXPECT_EQ(find_parameter(request, "p")->type, ParameterType::kString);
  EXPECT_EQ(find_parameter(request, "i")->int_value, -3);
  EXPECT_EQ(find_parameter(request, "i")->type, ParameterType::kInt);
  EXPECT_TRUE(find_parameter(request, "b")->bool_value);
  EXPECT_EQ(find_parameter(request, "b")->type, ParameterType::kBool);
  EXPECT_EQ(find_parameter(request, "d")->double_value, 0.5);
  EXPECT_EQ(find_parameter(request, "u")->type, ParameterType::kDouble);
  EXPECT_EQ(find_parameter(request, "u")->double_value, 18446744073709551616.0);
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].name, "I");
  EXPECT_EQ(request.inputs[0].datatype, DataType::kFp32);
  EXPECT_EQ(shape_text(request.inputs[0].shape), "[2,2]");
  EXPECT_EQ(values_of<float>(request.inputs[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(bytes_of(request.inputs[1]), std::string("\1\0\0\0a\2\0\0\0bc", 11));
  ASSERT_EQ(request.outputs.size(), 2u);
  EXPECT_EQ(request.outputs[0].name, "O");
  EXPECT_EQ(request.outputs[0].classification, 0u);
  EXPECT_EQ(request.outputs[1].classification, 3u);
  EXPECT_TRUE(read.parts.reply.lists_outputs);
  EXPECT_FALSE(read.parts.reply.is_binary(0));
  EXPECT_TRUE(read.parts.reply.is_binary(1));
  // Names and texts are C strings as well.
  EXPECT_EQ(request.id.data()[1], '\0');
  EXPECT_EQ(request.inputs[0].name.data()[1], '\0');
}

TEST(InferRequest, NothingOfItPointsIntoTheReader) {
  ReadBody read(with_parameters(R"("sequence_id":"seq","p":"value")"));
  ASSERT_TRUE(read.status.ok());
  Request other;
  InferParts parts;
  RegionUses regions;
  const PaddedText body(
      with_input(R"({"name":"XXXXXXXX","datatype":"BYTES","shape":[1],"data":["YYYYYYYYYYYYYYYYY"]})"));
  ASSERT_TRUE(read.reader.read({body.bytes(), {}}, model_info(), other, parts, regions).ok());
  EXPECT_EQ(read.request.sequence.text, "seq");
  EXPECT_EQ(find_parameter(read.request, "p")->text, "value");
  EXPECT_EQ(read.request.inputs[0].name, "I");
  EXPECT_EQ(values_of<int32_t>(read.request.inputs[0]), (std::vector<int32_t>{1, 2}));
}

TEST(InferRequest, BodiesThatAreNoRequest) {
  const std::string prefix = "failed to parse the request JSON buffer: ";
  expect_refused("", prefix + "The document is empty. at 0");
  for (const char* body : {"null", "[]", "1", "\"x\"", "true"}) {
    expect_refused(body, prefix + "attempt to access JSON non-object as object");
  }
  expect_refused(R"({"inputs":[)", prefix + "Invalid value. at 11");
  expect_refused(with_input(kInput) + "x",
                 prefix + "The document root must not be followed by other values. at 69");
  expect_refused("{}", "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'");
  expect_refused(R"({"inputs":{}})", "Unable to parse 'inputs': attempt to access JSON non-array as array");
  expect_refused(R"({"inputs":[1]})",
                 "Unable to parse 'inputs': attempt to access JSON non-object as object");
  expect_refused(R"({"inputs":[],"outputs":1})",
                 "Unable to parse 'outputs': attempt to access JSON non-array as array");
  expect_refused(R"({"inputs":[],"outputs":[[]]})",
                 "Unable to parse 'outputs': attempt to access JSON non-object as object");
  expect_refused(R"({"inputs":[],"parameters":[]})",
                 "Unable to parse 'parameters': attempt to access JSON non-object as object");
}

TEST(InferRequest, MembersThereTwice) {
  const auto twice = [](const char* name) {
    return cat("the JSON object has the member '", name, "' twice, expected once");
  };
  expect_refused(R"({"inputs":[],"inputs":[]})", twice("inputs"));
  expect_refused(R"({"id":"a","inputs":[],"id":"a"})", twice("id"));
  expect_refused(with_input(R"({"name":"I","datatype":"INT32","shape":[0],"data":[],"data":[]})"),
                 twice("data"));
  expect_refused(with_output(R"({"name":"O","name":"O"})"), twice("name"));
  expect_refused(with_output(R"({"name":"O","parameters":{"binary_data":true,"binary_data":true}})"),
                 twice("binary_data"));
  expect_refused(with_parameters(R"("priority":1,"priority":1)"), twice("priority"));
  expect_refused(with_parameters(R"("p":1,"p":1)"), "the request has the parameter 'p' twice, expected once");
}

TEST(InferRequest, Ids) {
  EXPECT_EQ(ReadBody(R"({"id":"caf\u00e9","inputs":[]})").request.id, "caf\xC3\xA9");
  EXPECT_TRUE(ReadBody(R"({"id":"","inputs":[]})").request.id.empty());
  expect_refused(R"({"id":7,"inputs":[]})",
                 "Unable to parse 'id': attempt to access JSON non-string as string");
  expect_refused(R"({"id":null,"inputs":[]})",
                 "Unable to parse 'id': attempt to access JSON non-string as string");
  expect_refused(R"({"id":"a\u0000b","inputs":[]})",
                 "the request's id holds a NUL character, none is allowed");
  const auto of_size = [](size_t size) {
    return cat(R"({"id":")", std::string(size, 'x'), R"(","inputs":[]})");
  };
  EXPECT_TRUE(ReadBody(of_size(kMaxIdBytes - 1)).status.ok());
  EXPECT_TRUE(ReadBody(of_size(kMaxIdBytes)).status.ok());
  expect_refused(of_size(kMaxIdBytes + 1), "the request's id has 65537 bytes, at most 65536 are allowed");
  expect_refused(of_size(60'000'000), "the request's id has 60000000 bytes, at most 65536 are allowed");
}

TEST(InferRequest, InputMembers) {
  const auto missing = [](const char* name) {
    return cat("Unable to parse '", name, "': attempt to access non-existing object member '", name, "'");
  };
  expect_refused(with_input(R"({"datatype":"INT32","shape":[1],"data":[1]})"), missing("name"));
  expect_refused(with_input(R"({"name":"I","shape":[1],"data":[1]})"), missing("datatype"));
  expect_refused(with_input(R"({"name":"I","datatype":"INT32","data":[1]})"), missing("shape"));
  expect_refused(with_input(R"({"name":1,"datatype":"INT32","shape":[1],"data":[1]})"),
                 "Unable to parse 'name': attempt to access JSON non-string as string");
  expect_refused(with_input(R"({"name":"I","datatype":1,"shape":[1],"data":[1]})"),
                 "Unable to parse 'datatype': attempt to access JSON non-string as string");
  for (const char* datatype : {"", "int32", "FP8", "STRING", "INT32 "}) {
    expect_refused(with_input(cat(R"({"name":"I","datatype":")", datatype, R"(","shape":[1],"data":[1]})")),
                   "invalid datatype for input I");
  }
  expect_refused(with_input(R"({"name":"I","datatype":"INT32","shape":[1],"data":1})"),
                 "Unable to parse 'data': attempt to access JSON non-array as array");
  expect_refused(
      with_input(R"({"name":"I","datatype":"FP16","shape":[1],"data":[1]})"),
      "receiving FP16 data via JSON is not supported. Please use the binary data format for input I");
  expect_refused(with_input(R"({"name":"I","datatype":"INT32","shape":[1],"parameters":1,"data":[1]})"),
                 "Unable to parse 'parameters': attempt to access JSON non-object as object");
  expect_refused(with_input(cat(kInput, ",", kInput)),
                 "[request id: <id_unknown>] input 'I' already exists in request");
  expect_refused(cat(R"({"id":"7","inputs":[)", kInput, ",", kInput, "]}"),
                 "[request id: 7] input 'I' already exists in request");
}

TEST(InferRequest, Names) {
  const auto input = [](std::string_view name) {
    return with_input(cat(R"({"name":")", name, R"(","datatype":"INT32","shape":[0],"data":[]})"));
  };
  EXPECT_TRUE(ReadBody(input(std::string(kMaxNameBytes, 'n'))).status.ok());
  expect_refused(input(std::string(kMaxNameBytes + 1, 'n')),
                 "the name of an input has 256 bytes, at most 255 are allowed");
  expect_refused(input("a\\u0000b"), "the name of an input holds a NUL character, none is allowed");
  const auto output = [](std::string_view name) { return with_output(cat(R"({"name":")", name, R"("})")); };
  EXPECT_TRUE(ReadBody(output(std::string(kMaxNameBytes, 'n'))).status.ok());
  expect_refused(output(std::string(kMaxNameBytes + 1, 'n')),
                 "the name of an output has 256 bytes, at most 255 are allowed");
  expect_refused(output("\\u0000"), "the name of an output holds a NUL character, none is allowed");
  const auto key = [](std::string_view name) { return with_parameters(cat("\"", name, "\":1")); };
  EXPECT_TRUE(ReadBody(key(std::string(kMaxNameBytes, 'n'))).status.ok());
  expect_refused(key(std::string(kMaxNameBytes + 1, 'n')),
                 "the key of a parameter has 256 bytes, at most 255 are allowed");
  expect_refused(key("k\\u0000"), "the key of a parameter holds a NUL character, none is allowed");
}

TEST(InferRequest, Shapes) {
  const auto shape = [](std::string_view text) {
    return with_input(cat(R"({"name":"I","datatype":"FP32","shape":)", text, R"(,"data":[1]})"));
  };
  const char* wrong =
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer";
  for (const char* text : {"[-1]", "[1.0]", "[\"1\"]", "[[1]]", "[null]", "[1,true]"}) {
    expect_refused(shape(text), wrong);
  }
  for (const char* text : {"1", "\"[1]\"", "{}", "null"}) {
    expect_refused(shape(text), "Unable to parse 'shape': attempt to access JSON non-array as array");
  }
  const auto too_many = [](std::string_view text) {
    return cat("invalid shape for input 'I': shape ", text,
               " causes total element count to exceed maximum size of 9223372036854775807");
  };
  expect_refused(shape("[1,9223372036854775808]"), too_many("[1,9223372036854775808]"));
  expect_refused(shape("[18446744073709551615]"), too_many("[18446744073709551615]"));
  expect_refused(shape("[16,1152921504606846978]"), too_many("[16,1152921504606846978]"));
  expect_refused(shape("[4,1152921504606846978]"),
                 "byte size overflow for input 'I': shape [4,1152921504606846978] of FP32 takes more than "
                 "9223372036854775807 bytes");
  expect_refused(shape("[18446744073709551616]"), wrong);
  std::string ones = "[1";
  for (uint32_t i = 2; i < kMaxRank; ++i) ones += ",1";
  EXPECT_TRUE(ReadBody(shape(ones + "]")).status.ok());
  EXPECT_TRUE(ReadBody(shape(ones + ",1]")).status.ok());
  expect_refused(shape(ones + ",1,1]"), "the shape of input 'I' has 33 dimensions, at most 32 are allowed");
  ReadBody scalar(shape("[]"));
  EXPECT_TRUE(scalar.status.ok());
  EXPECT_TRUE(scalar.request.inputs[0].shape.empty());
}

TEST(InferRequest, ExactlyOneSourceOfData) {
  const std::string start =
      "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', "
      "'shared_memory_region' in 'parameters'. But";
  const auto input = [](std::string_view more) {
    return with_input(cat(R"({"name":"I","datatype":"INT32","shape":[1])", more, "}"));
  };
  expect_refused(input(""), start + " no field is set");
  expect_refused(input(R"(,"parameters":{})"), start + " no field is set");
  expect_refused(input(R"(,"parameters":{"binary_data_size":4},"data":[1])"),
                 start + " set 'data' 'binary_data_size'");
  expect_refused(input(R"(,"parameters":{"shared_memory_region":"region"},"data":[1])"),
                 start + " set 'data' 'shared_memory_region'");
  expect_refused(input(R"(,"parameters":{"binary_data_size":4,"shared_memory_region":"region"})"),
                 start + " set 'binary_data_size' 'shared_memory_region'");
  expect_refused(input(R"(,"parameters":{"binary_data_size":4,"shared_memory_region":"region"},"data":[1])"),
                 start + " set 'data' 'binary_data_size' 'shared_memory_region'");
}

TEST(InferRequest, Parameters) {
  const auto wrong = [](const char* name, const char* kind) {
    return cat("Unable to parse '", name, "': attempt to access JSON non-", kind, " as ", kind);
  };
  for (const char* value : {"{}", "-1", "1.5", "null", "true", "[]"}) {
    expect_refused(with_parameters(cat(R"("sequence_id":)", value)), wrong("sequence_id", "string"));
  }
  for (const char* key : {"sequence_start", "sequence_end", "binary_data_output"}) {
    expect_refused(with_parameters(cat("\"", key, "\":1")), wrong(key, "boolean"));
  }
  for (const char* key : {"priority", "timeout"}) {
    for (const char* value : {"\"1\"", "-1", "1.5", "{}"}) {
      expect_refused(with_parameters(cat("\"", key, "\":", value)), wrong(key, "unsigned-integer"));
    }
  }
  const char* reserved =
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.";
  expect_refused(with_parameters(R"("triton_enable_empty_final_response":true)"), reserved);
  expect_refused(with_parameters(R"("triton_x":1)"), reserved);
  for (const char* value : {"[]", "{}", "null", "[1]", "{\"a\":1}"}) {
    expect_refused(with_parameters(cat(R"("p":)", value)),
                   "parameter 'p' has invalid type. It should be either 'int', 'bool', or 'string'.");
  }
  ReadBody literal(with_parameters(R"("p":NaN)"));
  ASSERT_TRUE(literal.status.ok());
  EXPECT_NE(find_parameter(literal.request, "p")->double_value,
            find_parameter(literal.request, "p")->double_value);
}

TEST(InferRequest, SequenceIds) {
  EXPECT_EQ(ReadBody(with_parameters(R"("sequence_id":18446744073709551615)")).request.sequence.number,
            UINT64_MAX);
  EXPECT_EQ(ReadBody(with_parameters(R"("sequence_id":"7")")).request.sequence.text, "7");
  const auto of_size = [](size_t size) {
    return with_parameters(cat(R"("sequence_id":")", std::string(size, 's'), "\""));
  };
  EXPECT_TRUE(ReadBody(of_size(kMaxSequenceIdBytes)).status.ok());
  expect_refused(of_size(kMaxSequenceIdBytes + 1),
                 "string correlation ID cannot be longer than 128 characters", Code::kUnimplemented);
  expect_refused(with_parameters(R"("sequence_id":"a\u0000")"),
                 "sequence_id holds a NUL character, none is allowed");
}

TEST(InferRequest, ParameterLimit) {
  const auto count = [](uint32_t n) {
    std::string text;
    for (uint32_t i = 0; i < n; ++i) text += cat(i == 0 ? "" : ",", "\"k", i, "\":", i);
    return with_parameters(text);
  };
  EXPECT_EQ(ReadBody(count(kMaxParameters - 1)).request.parameters.size(), kMaxParameters - 1);
  EXPECT_EQ(ReadBody(count(kMaxParameters)).request.parameters.size(), kMaxParameters);
  expect_refused(count(kMaxParameters + 1), "the request has more than 1024 parameters");
  expect_refused(count(50'000), "the request has more than 1024 parameters");
  expect_refused(
      count(200'000),
      "the JSON has 400017 values beside arrays of more than 1024 elements, at most 131072 are allowed");
}

TEST(InferRequest, TensorLimit) {
  const auto tensors = [](uint32_t inputs, uint32_t outputs) {
    std::string text = R"({"inputs":[)";
    for (uint32_t i = 0; i < inputs; ++i) {
      text += cat(i == 0 ? "" : ",", R"({"name":"i)", i, R"(","datatype":"INT8","shape":[0],"data":[]})");
    }
    text += R"(],"outputs":[)";
    for (uint32_t i = 0; i < outputs; ++i) text += cat(i == 0 ? "" : ",", R"({"name":"o)", i, "\"}");
    return text + "]}";
  };
  EXPECT_TRUE(ReadBody(tensors(1000, 23)).status.ok());
  EXPECT_TRUE(ReadBody(tensors(1000, 24)).status.ok());
  EXPECT_TRUE(ReadBody(tensors(0, 1024)).status.ok());
  expect_refused(tensors(1000, 25), "the request has 1025 inputs and outputs, at most 1024 are allowed");
  expect_refused(tensors(10'000, 0), "the request has 10000 inputs and outputs, at most 1024 are allowed");
  expect_refused(tensors(0, 10'000), "the request has 10000 inputs and outputs, at most 1024 are allowed");
  const auto too_many = [](uint32_t values) {
    return cat("the JSON has ", values,
               " values beside arrays of more than 1024 elements, at most 131072 are allowed");
  };
  expect_refused(tensors(100'000, 0), too_many(1'000'005));
  expect_refused(tensors(0, 100'000), too_many(300'005));
}

TEST(InferRequest, Outputs) {
  expect_refused(with_output("{}"),
                 "Unable to parse 'name': attempt to access non-existing object member 'name'");
  expect_refused(with_output(R"({"name":"O"},{"name":"O"})"),
                 "[request id: <id_unknown>] output 'O' already exists in request");
  const auto parameters = [](std::string_view text) {
    return with_output(cat(R"({"name":"O","parameters":{)", text, "}}"));
  };
  expect_refused(parameters(R"("binary_data":1)"),
                 "Unable to parse 'binary_data': attempt to access JSON non-boolean as boolean");
  for (const char* value : {"-1", "1.5", "\"1\"", "true"}) {
    expect_refused(
        parameters(cat(R"("classification":)", value)),
        "Unable to parse 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer");
  }
  EXPECT_EQ(ReadBody(parameters(R"("classification":0)")).request.outputs[0].classification, 0u);
  EXPECT_EQ(ReadBody(parameters(R"("classification":2147483648)")).request.outputs[0].classification,
            2147483648u);
  EXPECT_EQ(
      ReadBody(parameters(R"("classification":18446744073709551615)")).request.outputs[0].classification,
      UINT32_MAX);
}

TEST(InferRequest, BinaryDefault) {
  ReadBody unlisted(with_parameters(R"("binary_data_output":true)"));
  EXPECT_TRUE(unlisted.parts.reply.is_binary(0));
  EXPECT_FALSE(unlisted.parts.reply.lists_outputs);
  ReadBody listed(cat(R"({"parameters":{"binary_data_output":true},"inputs":[)", kInput,
                      R"(],"outputs":[{"name":"O"},{"name":"P","parameters":{"binary_data":true}}]})"));
  EXPECT_FALSE(listed.parts.reply.is_binary(0));
  EXPECT_TRUE(listed.parts.reply.is_binary(1));
  ReadBody empty_list(
      cat(R"({"parameters":{"binary_data_output":true},"outputs":[],"inputs":[)", kInput, "]}"));
  EXPECT_TRUE(empty_list.parts.reply.is_binary(5));
  EXPECT_FALSE(ReadBody(with_input(kInput)).parts.reply.is_binary(0));
}

TEST(InferRequest, JsonSizeLimit) {
  const std::string body = with_input(kInput);
  EXPECT_TRUE(ReadBody(body, {}, {body.size() + 1}).status.ok());
  EXPECT_TRUE(ReadBody(body, {}, {body.size()}).status.ok());
  EXPECT_EQ(ReadBody(body, {}, {body.size() - 1}).status.message(),
            cat("request JSON size of ", body.size(), " bytes exceeds the maximum allowed input size of ",
                body.size() - 1, " bytes. Use --http-max-input-size to increase the limit."));
}

TEST(InferRequest, PartsAreReused) {
  InferParts parts;
  parts.reply.binary_default = true;
  parts.reply.lists_outputs = true;
  parts.reply.binary[3] = true;
  parts.reset();
  EXPECT_FALSE(parts.reply.is_binary(3));
  EXPECT_FALSE(parts.reply.lists_outputs);
  EXPECT_FALSE(parts.reply.binary_default);
}

}  // namespace
}  // namespace atl::frontends::http
