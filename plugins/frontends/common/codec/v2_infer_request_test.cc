// What a request means, and every way of refusing it.
#include <gtest/gtest.h>

#include <functional>

#include "frontends/common/testing/codec_test_support.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

using inference::ModelInferRequest;

ModelInferRequest valid_message() {
  ModelInferRequest message;
  message.set_model_name("m");
  message.set_id("7");
  auto* input = message.add_inputs();
  input->set_name("I");
  input->set_datatype("INT32");
  input->add_shape(1);
  message.add_raw_input_contents("\1\0\0\0", 4);
  message.add_outputs()->set_name("O");
  return message;
}

ModelInferRequest typed_message(const std::string& datatype) {
  ModelInferRequest message = valid_message();
  message.clear_raw_input_contents();
  message.mutable_inputs(0)->set_datatype(datatype);
  message.mutable_inputs(0)->mutable_contents();
  return message;
}

struct Refusal {
  const char* name;
  std::function<void(ModelInferRequest&)> change;
  Code code;
  const char* text;
};

auto& parameter(ModelInferRequest& message, const char* key) { return (*message.mutable_parameters())[key]; }
auto& input_parameter(ModelInferRequest& message, const char* key) {
  return (*message.mutable_inputs(0)->mutable_parameters())[key];
}
auto& output_parameter(ModelInferRequest& message, const char* key) {
  return (*message.mutable_outputs(0)->mutable_parameters())[key];
}

void expect_refusals(const std::vector<Refusal>& refusals, const std::function<ModelInferRequest()>& base) {
  for (const Refusal& refusal : refusals) {
    ModelInferRequest message = base();
    refusal.change(message);
    ReadMessage read(message.SerializeAsString());
    ASSERT_TRUE(read.parse_status.ok()) << refusal.name;
    EXPECT_EQ(read.fill_status.code(), refusal.code) << refusal.name;
    EXPECT_EQ(read.fill_status.message(), refusal.text) << refusal.name;
  }
}

TEST(V2InferRequest, RefusesParametersWithTheProtocolsTexts) {
  constexpr Code kInvalid = Code::kInvalidArgument;
  const char* reserved =
      "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys "
      "starting with 'triton_' are allowed: triton_enable_empty_final_response";
  using M = ModelInferRequest;
  expect_refusals(
      {{"sequence_id", [](M& m) { parameter(m, "sequence_id").set_bool_param(true); }, kInvalid,
        "invalid value type for 'sequence_id' parameter, expected int64_param or string_param."},
       {"long sequence_id", [](M& m) { parameter(m, "sequence_id").set_string_param(std::string(129, 'x')); },
        Code::kUnimplemented, "string correlation ID cannot be longer than 128 characters"},
       {"sequence_start", [](M& m) { parameter(m, "sequence_start").set_int64_param(1); }, kInvalid,
        "invalid value type for 'sequence_start' parameter, expected bool_param."},
       {"sequence_end", [](M& m) { parameter(m, "sequence_end").set_string_param("x"); }, kInvalid,
        "invalid value type for 'sequence_end' parameter, expected bool_param."},
       {"priority type", [](M& m) { parameter(m, "priority").set_string_param("1"); }, kInvalid,
        "invalid value type for 'priority' parameter, expected int64_param or uint64_param."},
       {"priority value", [](M& m) { parameter(m, "priority").set_int64_param(-1); }, kInvalid,
        "invalid value for 'priority', expected value >= 0."},
       {"timeout", [](M& m) { parameter(m, "timeout").set_uint64_param(1); }, kInvalid,
        "invalid value type for 'timeout' parameter, expected int64_param."},
       {"empty final", [](M& m) { parameter(m, "triton_enable_empty_final_response").set_int64_param(1); },
        kInvalid,
        "invalid value type for 'triton_enable_empty_final_response' parameter, expected bool_param."},
       {"reserved", [](M& m) { parameter(m, "triton_x").set_bool_param(true); }, kInvalid, reserved},
       {"custom unset", [](M& m) { parameter(m, "k"); }, kInvalid,
        "invalid value type for 'k' parameter, expected int64_param, bool_param, or string_param."},
       {"custom uint64", [](M& m) { parameter(m, "k").set_uint64_param(1); }, kInvalid,
        "invalid value type for 'k' parameter, expected int64_param, bool_param, or string_param."}},
      valid_message);
}

TEST(V2InferRequest, RefusesTensorsWithTheProtocolsTexts) {
  constexpr Code kInvalid = Code::kInvalidArgument;
  using M = ModelInferRequest;
  expect_refusals(
      {{"input twice", [](M& m) { *m.add_inputs() = m.inputs(0); }, kInvalid,
        "[request id: 7] input 'I' already exists in request"},
       {"output twice", [](M& m) { *m.add_outputs() = m.outputs(0); }, kInvalid,
        "[request id: 7] output 'O' already exists in request"},
       {"no id",
        [](M& m) {
          m.clear_id();
          *m.add_inputs() = m.inputs(0);
        },
        kInvalid, "[request id: <id_unknown>] input 'I' already exists in request"},
       {"raw and typed", [](M& m) { m.mutable_inputs(0)->mutable_contents(); }, kInvalid,
        "contents field must not be specified when using raw_input_contents for 'I' for model 'm'"},
       {"no data", [](M& m) { m.clear_raw_input_contents(); }, kInvalid,
        "unable to find data for input tensor 'I' for model 'm' in request."},
       {"class type", [](M& m) { output_parameter(m, "classification").set_string_param("1"); }, kInvalid,
        "invalid value type for 'classification' parameter, expected int64_param"},
       {"class value", [](M& m) { output_parameter(m, "classification").set_int64_param(0); }, kInvalid,
        "invalid value for 'classification' parameter, expected >= 0"},
       {"class and region",
        [](M& m) {
          output_parameter(m, "classification").set_int64_param(1);
          output_parameter(m, "shared_memory_region").set_string_param("r");
          output_parameter(m, "shared_memory_byte_size").set_int64_param(4);
        },
        kInvalid, "output can't set both 'shared_memory_region' and 'classification'"}},
      valid_message);
}

TEST(V2InferRequest, RefusesSharedMemoryWithTheProtocolsTexts) {
  constexpr Code kInvalid = Code::kInvalidArgument;
  using M = ModelInferRequest;
  auto region = [](M& m) {
    input_parameter(m, "shared_memory_region").set_string_param("r");
    input_parameter(m, "shared_memory_byte_size").set_int64_param(4);
  };
  expect_refusals(
      {{"unknown", region, Code::kNotFound, "Unable to find shared memory region: 'r'"},
       {"unknown for an output",
        [](M& m) {
          output_parameter(m, "shared_memory_region").set_string_param("r");
          output_parameter(m, "shared_memory_byte_size").set_int64_param(4);
        },
        Code::kNotFound, "Unable to find shared memory region: 'r'"},
       {"no size", [](M& m) { input_parameter(m, "shared_memory_region").set_string_param("r"); }, kInvalid,
        "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor "
        "'I'"},
       {"offset alone", [](M& m) { input_parameter(m, "shared_memory_offset").set_int64_param(1); }, kInvalid,
        "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor "
        "'I'"},
       {"size alone", [](M& m) { input_parameter(m, "shared_memory_byte_size").set_int64_param(1); },
        kInvalid,
        "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor "
        "'I'"},
       {"region type", [](M& m) { input_parameter(m, "shared_memory_region").set_int64_param(1); }, kInvalid,
        "invalid value type for 'shared_memory_region' parameter for tensor 'I', expected string_param."},
       {"offset type",
        [&](M& m) {
          region(m);
          input_parameter(m, "shared_memory_offset").set_string_param("1");
        },
        kInvalid,
        "invalid value type for 'shared_memory_offset' parameter for tensor 'I', expected int64_param."},
       {"size type",
        [&](M& m) {
          region(m);
          input_parameter(m, "shared_memory_byte_size").set_bool_param(true);
        },
        kInvalid,
        "invalid value type for 'shared_memory_byte_size' parameter for tensor 'I', expected int64_param."},
       {"typed and region",
        [&](M& m) {
          region(m);
          m.mutable_inputs(0)->mutable_contents();
        },
        kInvalid,
        "unexpected 'content' provided when using shared memory for input tensor 'I' for model 'm'"}},
      valid_message);
}

TEST(V2InferRequest, RefusesTypedListsWithTheProtocolsTexts) {
  constexpr Code kInvalid = Code::kInvalidArgument;
  using M = ModelInferRequest;
  auto contents = [](M& m) { return m.mutable_inputs(0)->mutable_contents(); };
  expect_refusals({{"wrong list", [&](M& m) { contents(m)->add_bool_contents(true); }, kInvalid,
                    "unexpected explicit tensor data for input tensor 'I' for model 'm' of type 'BOOL', "
                    "expected datatype "
                    "'FP32'"},
                   {"int list", [&](M& m) { contents(m)->add_int_contents(1); }, kInvalid,
                    "unexpected explicit tensor data for input tensor 'I' for model 'm' of type 'INT32', "
                    "expected datatype "
                    "'FP32'"},
                   {"two lists",
                    [&](M& m) {
                      contents(m)->add_fp32_contents(1);
                      contents(m)->add_bytes_contents("x");
                    },
                    kInvalid,
                    "unexpected explicit tensor data for input tensor 'I' for model 'm', binary data was "
                    "already supplied."},
                   {"half floats",
                    [&](M& m) {
                      m.mutable_inputs(0)->set_datatype("FP16");
                      contents(m)->add_fp32_contents(1);
                    },
                    kInvalid,
                    "unexpected explicit tensor data for input tensor 'I' for model 'm' of type 'FP32', "
                    "expected datatype "
                    "'FP16'"},
                   {"unknown datatype",
                    [&](M& m) {
                      m.mutable_inputs(0)->set_datatype("FP33");
                      contents(m)->add_fp32_contents(1);
                    },
                    kInvalid,
                    "unexpected explicit tensor data for input tensor 'I' for model 'm' of type 'FP32', "
                    "expected datatype "
                    "'<invalid>'"}},
                  [] { return typed_message("FP32"); });
}

TEST(V2InferRequest, ReadsParameters) {
  ModelInferRequest message = valid_message();
  parameter(message, "sequence_id").set_string_param("abc");
  parameter(message, "sequence_start").set_bool_param(true);
  parameter(message, "sequence_end").set_bool_param(true);
  parameter(message, "priority").set_uint64_param(UINT64_MAX);
  parameter(message, "timeout").set_int64_param(1500);
  parameter(message, "triton_enable_empty_final_response").set_bool_param(true);
  parameter(message, "custom").set_double_param(0.5);
  ReadMessage read(message.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read.request.sequence.text, "abc");
  EXPECT_EQ(read.request.sequence.number, 0u);
  EXPECT_EQ(read.request.sequence_flags, uint32_t{kSequenceStart | kSequenceEnd});
  EXPECT_EQ(read.request.priority, UINT64_MAX);
  EXPECT_EQ(read.request.timeout_us, 1500u);
  EXPECT_TRUE(read.message.empty_final_response());
  ASSERT_EQ(read.request.parameters.size(), 1u);
  EXPECT_EQ(read.request.parameters[0].key, "custom");
  EXPECT_EQ(read.request.parameters[0].double_value, 0.5);
}

TEST(V2InferRequest, AnEmptyContentsIsZeroBytesAndSurplusRawIsRefused) {
  ReadMessage typed(typed_message("FP32").SerializeAsString());
  ASSERT_TRUE(typed.ok());
  EXPECT_EQ(typed.request.inputs[0].size_bytes, 0u);
  ModelInferRequest message = valid_message();
  for (int count : {2, 3001}) {
    while (message.raw_input_contents_size() < count) message.add_raw_input_contents("surplus");
    ReadMessage raw(message.SerializeAsString());
    EXPECT_EQ(raw.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(
        raw.status().message(),
        "raw_input_contents of the request for model 'm' has more than 1 entries, expected one for each "
        "input without shared memory");
  }
}

TEST(V2InferRequest, RawTensorsPointIntoTheSlices) {
  const std::string bytes = valid_message().SerializeAsString();
  ReadMessage read(bytes);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read.request.inputs[0].buffers.size(), 1u);
  const auto* data = static_cast<const uint8_t*>(read.request.inputs[0].buffers[0].data);
  ByteSpan slice = read.slices.spans()[0];
  EXPECT_GE(data, slice.data());
  EXPECT_LE(data + 4, slice.data() + slice.size());
}

// --- limits: at the limit and one beyond ---

void expect_limit(const std::function<ModelInferRequest(size_t)>& make, size_t limit) {
  ReadMessage at(make(limit).SerializeAsString());
  EXPECT_TRUE(at.ok()) << at.status().text();
  ReadMessage beyond(make(limit + 1).SerializeAsString());
  EXPECT_EQ(beyond.parse_status.code(), Code::kInvalidArgument);
}

TEST(V2InferRequest, LimitsTheNumberOfTensorsAndParameters) {
  expect_limit(
      [](size_t count) {
        ModelInferRequest message = valid_message();
        for (size_t i = 2; i < count; ++i) message.add_outputs()->set_name(cat("o", i));
        return message;
      },
      kMaxTensors);
  expect_limit(
      [](size_t count) {
        ModelInferRequest message = valid_message();
        for (size_t i = 0; i < count; ++i) parameter(message, cat("p", i).c_str()).set_bool_param(true);
        return message;
      },
      kMaxParameters);
  expect_limit(
      [](size_t count) {
        ModelInferRequest message = valid_message();
        message.mutable_inputs(0)->clear_shape();
        for (size_t i = 0; i < count; ++i) message.mutable_inputs(0)->add_shape(1);
        return message;
      },
      kMaxRank);
}

TEST(V2InferRequest, LimitsTheLengthOfTexts) {
  auto limit = [](size_t bytes, void (*set)(ModelInferRequest&, std::string)) {
    expect_limit(
        [set](size_t size) {
          ModelInferRequest message = valid_message();
          set(message, std::string(size, 'x'));
          return message;
        },
        bytes);
  };
  limit(kMaxNameBytes, [](ModelInferRequest& m, std::string text) { m.set_model_name(text); });
  limit(kMaxNameBytes, [](ModelInferRequest& m, std::string text) { m.mutable_inputs(0)->set_name(text); });
  limit(kMaxNameBytes, [](ModelInferRequest& m, std::string text) { m.mutable_outputs(0)->set_name(text); });
  limit(kMaxNameBytes,
        [](ModelInferRequest& m, std::string text) { parameter(m, text.c_str()).set_bool_param(true); });
  limit(kMaxIdBytes, [](ModelInferRequest& m, std::string text) { m.set_id(text); });
}

// --- malformed bytes ---

TEST(V2InferRequest, RefusesBytesThatAreNoMessage) {
  const std::string deep = std::string(200, '\x0B');  // start of a group within a group within ...
  for (const std::string& bytes : {std::string("\xFF\xFF\xFF\xFF"), std::string("\x0A"),
                                   std::string("\x0A\x05"
                                               "ab"),
                                   std::string("\x0A\x01\xFF"), std::string("\x2A\x02\x1A\x05"),
                                   std::string("\x22\x03\x0A\x05x"), deep}) {
    ReadMessage read(bytes);
    EXPECT_EQ(read.parse_status.code(), Code::kInvalidArgument);
    EXPECT_TRUE(read.parse_status.message().starts_with("the message is not a valid"))
        << read.parse_status.message();
  }
}

TEST(V2InferRequest, SkipsDeeplyNestedUnknownFields) {
  std::string nested;
  for (int depth = 0; depth < 100; ++depth) {
    // Field 100, length-delimited, around what there is.
    std::string outer = "\xA2\x06";
    for (size_t size = nested.size();;) {
      outer.push_back(static_cast<char>(size >= 0x80 ? size | 0x80 : size));
      if (size < 0x80) break;
      size >>= 7;
    }
    nested = outer + nested;
  }
  ReadMessage read(valid_message().SerializeAsString() + nested);
  EXPECT_TRUE(read.ok()) << read.status().text();
}

TEST(V2InferRequest, NoTypedNumberWrapsRound) {
  struct Case {
    const char* datatype;
    int64_t number;
    bool fits;
  };
  for (const Case& c :
       {Case{"INT8", 127, true}, Case{"INT8", -128, true}, Case{"INT8", 128, false}, Case{"INT8", 300, false},
        Case{"INT8", -129, false}, Case{"INT16", 32767, true}, Case{"INT16", -32768, true},
        Case{"INT16", 32768, false}, Case{"INT16", -32769, false}, Case{"INT8", INT32_MIN, false},
        Case{"UINT8", 255, true}, Case{"UINT8", 256, false}, Case{"UINT8", UINT32_MAX, false},
        Case{"UINT16", 65535, true}, Case{"UINT16", 65536, false}, Case{"INT32", INT32_MIN, true},
        Case{"UINT32", UINT32_MAX, true}}) {
    const std::string datatype = c.datatype;
    inference::ModelInferRequest message = typed_message(datatype);
    message.mutable_inputs(0)->clear_shape();
    message.mutable_inputs(0)->add_shape(2);
    auto* contents = message.mutable_inputs(0)->mutable_contents();
    for (const int64_t number : {int64_t{1}, c.number}) {
      if (datatype[0] == 'U') {
        contents->add_uint_contents(static_cast<uint32_t>(number));
      } else {
        contents->add_int_contents(static_cast<int32_t>(number));
      }
    }
    ReadMessage read(message.SerializeAsString());
    EXPECT_EQ(read.ok(), c.fits) << datatype << " " << c.number << ": " << read.status().text();
    if (c.fits) continue;
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(read.status().message(), cat("input 'I' for model 'm': ", c.number,
                                           " in the contents is out of the range of ", datatype));
  }
}

TEST(V2InferRequest, RefusesTypedContentsCutInsideANumber) {
  // inputs { datatype: "FP32" contents { fp32_contents: 3 bytes } }
  ReadMessage read(
      "\x2A\x0D\x12\x04"
      "FP32"
      "\x2A\x05\x32\x03"
      "abc");
  ASSERT_TRUE(read.parse_status.ok());
  EXPECT_EQ(read.fill_status.code(), Code::kInvalidArgument);
  EXPECT_NE(read.fill_status.message().find("contents of input"), std::string_view::npos);
}

TEST(V2InferRequest, IsReusableAfterReset) {
  ReadMessage read(valid_message().SerializeAsString());
  ASSERT_TRUE(read.ok());
  read.message.reset();
  read.request.reset();
  SlicedBytes empty("");
  ASSERT_TRUE(read.message.parse(empty.spans(), read.request.arena()).ok());
  ASSERT_TRUE(read.message.fill(read.request, read.regions).ok());
  EXPECT_EQ(read.message.model_name(), "");
  EXPECT_TRUE(read.request.inputs.empty());
}

}  // namespace
}  // namespace atl::frontends
