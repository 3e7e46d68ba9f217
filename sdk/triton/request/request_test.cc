/// Requests, their inputs and their buffers as foreign code sees them.
#include "atoll/triton/request.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"
#include "atoll/triton/status.h"
#include "triton/core/tritonbackend.h"

namespace {

using atl::Code;
using atl::DataType;
using atl::triton::take_error;

class CRequest : public testing::Test {
 protected:
  /// As a batching strategy gets it. Handles of inputs stay what they are when it is made anew.
  TRITONBACKEND_Request* handle() {
    view.emplace(*request);
    return view->handle();
  }
  TRITONBACKEND_Input* input(const char* name) {
    TRITONBACKEND_Input* found = nullptr;
    EXPECT_TRUE(take_error(TRITONBACKEND_RequestInput(handle(), name, &found)).ok());
    return found;
  }
  atl::Parameter& parameter(std::string_view key, atl::ParameterType type) {
    atl::Parameter& added = request->add_parameter();
    added.key = request->arena().copy_text(key);
    added.type = type;
    return added;
  }
  atl::test::TestRequest request{"r1"};
  std::optional<atl::triton::RequestView> view;
};

TEST_F(CRequest, Ids) {
  const char* text = nullptr;
  EXPECT_EQ(TRITONBACKEND_RequestId(handle(), &text), nullptr);
  EXPECT_STREQ(text, "r1");
  request->id = {};
  EXPECT_EQ(TRITONBACKEND_RequestId(handle(), &text), nullptr);
  EXPECT_STREQ(text, "");
}

TEST_F(CRequest, CorrelationIdIsANumberOrATextOrNone) {
  uint64_t number = 9;
  const char* text = nullptr;
  EXPECT_EQ(TRITONBACKEND_RequestCorrelationId(handle(), &number), nullptr);
  EXPECT_EQ(TRITONBACKEND_RequestCorrelationIdString(handle(), &text), nullptr);
  EXPECT_EQ(number, 0u);
  EXPECT_STREQ(text, "");

  request->sequence.number = 7;
  EXPECT_EQ(TRITONBACKEND_RequestCorrelationId(handle(), &number), nullptr);
  EXPECT_EQ(number, 7u);
  TRITONSERVER_Error* error = TRITONBACKEND_RequestCorrelationIdString(handle(), &text);
  EXPECT_EQ(error, TRITONBACKEND_RequestCorrelationIdString(handle(), &text))
      << "nothing is allocated for it";
  TRITONSERVER_ErrorDelete(error);
  EXPECT_EQ(take_error(error).code(), Code::kInvalidArgument) << "deleting it has no effect";

  request->sequence = {0, "seven"};
  EXPECT_EQ(TRITONBACKEND_RequestCorrelationIdString(handle(), &text), nullptr);
  EXPECT_STREQ(text, "seven");
  EXPECT_EQ(take_error(TRITONBACKEND_RequestCorrelationId(handle(), &number)).code(), Code::kInvalidArgument);
}

TEST_F(CRequest, FlagsTimeoutAndCancellation) {
  uint32_t flags = 0;
  uint64_t timeout = 0;
  bool cancelled = true;
  request->sequence_flags = atl::kSequenceStart | atl::kSequenceEnd;
  request->timeout_us = 1500;
  EXPECT_EQ(TRITONBACKEND_RequestFlags(handle(), &flags), nullptr);
  EXPECT_EQ(flags, 3u);
  EXPECT_EQ(TRITONBACKEND_InferenceRequestTimeoutMicroseconds(handle(), &timeout), nullptr);
  EXPECT_EQ(timeout, 1500u);
  EXPECT_EQ(TRITONBACKEND_RequestIsCancelled(handle(), &cancelled), nullptr);
  EXPECT_FALSE(cancelled);
  request.cancel();
  EXPECT_EQ(TRITONBACKEND_RequestIsCancelled(handle(), &cancelled), nullptr);
  EXPECT_TRUE(cancelled);
}

TEST_F(CRequest, Parameters) {
  parameter("text", atl::ParameterType::kString).text = request->arena().copy_text("value");
  parameter("empty", atl::ParameterType::kString);
  parameter("int", atl::ParameterType::kInt).int_value = -5;
  parameter("bool", atl::ParameterType::kBool).bool_value = true;
  parameter("double", atl::ParameterType::kDouble).double_value = 0.5;
  uint32_t count = 0;
  EXPECT_EQ(TRITONBACKEND_RequestParameterCount(handle(), &count), nullptr);
  ASSERT_EQ(count, 5u);
  std::vector<std::string> seen;
  for (uint32_t i = 0; i < count; ++i) {
    const char* key = nullptr;
    const void* value = nullptr;
    TRITONSERVER_ParameterType type;
    ASSERT_EQ(TRITONBACKEND_RequestParameter(handle(), i, &key, &type, &value), nullptr);
    switch (type) {
      case TRITONSERVER_PARAMETER_INT:
        seen.push_back(atl::cat(key, "=", *static_cast<const int64_t*>(value)));
        break;
      case TRITONSERVER_PARAMETER_BOOL:
        seen.push_back(atl::cat(key, "=", *static_cast<const bool*>(value)));
        break;
      case TRITONSERVER_PARAMETER_DOUBLE:
        seen.push_back(atl::cat(key, "=", *static_cast<const double*>(value)));
        break;
      default:
        seen.push_back(atl::cat(key, "=", static_cast<const char*>(value)));
    }
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"text=value", "empty=", "int=-5", "bool=true", "double=0.5"}));
  const char* key = nullptr;
  const void* value = nullptr;
  TRITONSERVER_ParameterType type;
  EXPECT_EQ(take_error(TRITONBACKEND_RequestParameter(handle(), 5, &key, &type, &value)).text(),
            "request 'r1' has 5 parameters, no parameter 5");
}

TEST_F(CRequest, InputsByNameAndPosition) {
  request.add_input<float>("A", DataType::kFp32, {1, 2}, {1, 2});
  request.add_bytes_input("B", {1}, {"x"});
  uint32_t count = 0;
  EXPECT_EQ(TRITONBACKEND_RequestInputCount(handle(), &count), nullptr);
  EXPECT_EQ(count, 2u);
  const char* name = nullptr;
  EXPECT_EQ(TRITONBACKEND_RequestInputName(handle(), 1, &name), nullptr);
  EXPECT_STREQ(name, "B");
  TRITONBACKEND_Input* found = nullptr;
  EXPECT_EQ(TRITONBACKEND_RequestInputByIndex(handle(), 1, &found), nullptr);
  EXPECT_EQ(found, input("B"));

  EXPECT_EQ(take_error(TRITONBACKEND_RequestInputName(handle(), 2, &name)).text(),
            "request 'r1' has 2 inputs, no input 2");
  EXPECT_EQ(take_error(TRITONBACKEND_RequestInputByIndex(handle(), 2, &found)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(found, nullptr);
  found = input("A");
  EXPECT_EQ(take_error(TRITONBACKEND_RequestInput(handle(), "C", &found)).text(),
            "request 'r1' has no input 'C'");
  EXPECT_EQ(found, nullptr);
}

TEST_F(CRequest, Outputs) {
  request.add_output("Y");
  uint32_t count = 0;
  EXPECT_EQ(TRITONBACKEND_RequestOutputCount(handle(), &count), nullptr);
  EXPECT_EQ(count, 1u);
  const char* name = nullptr;
  EXPECT_EQ(TRITONBACKEND_RequestOutputName(handle(), 0, &name), nullptr);
  EXPECT_STREQ(name, "Y");
  EXPECT_EQ(take_error(TRITONBACKEND_RequestOutputName(handle(), 1, &name)).text(),
            "request 'r1' has 1 outputs, no output 1");
}

TEST_F(CRequest, PropertiesOfAnInput) {
  request.add_raw_input("A", DataType::kInt16, {2, 3}, "abcdefghijkl", {4});
  const char* name = nullptr;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint32_t rank = 0;
  uint64_t size = 0;
  uint32_t buffers = 0;
  for (bool policy : {false, true}) {
    ASSERT_EQ(policy
                  ? TRITONBACKEND_InputPropertiesForHostPolicy(input("A"), "numa_0", &name, &type, &shape,
                                                               &rank, &size, &buffers)
                  : TRITONBACKEND_InputProperties(input("A"), &name, &type, &shape, &rank, &size, &buffers),
              nullptr);
    EXPECT_STREQ(name, "A");
    EXPECT_EQ(type, TRITONSERVER_TYPE_INT16);
    EXPECT_EQ(std::vector<int64_t>(shape, shape + rank), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(size, 12u);
    EXPECT_EQ(buffers, 2u);
  }
  EXPECT_EQ(TRITONBACKEND_InputProperties(input("A"), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
            nullptr);
}

TEST_F(CRequest, BuffersOfAnInput) {
  request.add_raw_input("A", DataType::kInt16, {2, 3}, "abcdefghijkl", {4});
  const void* data = nullptr;
  uint64_t size = 0;
  auto type = TRITONSERVER_MEMORY_GPU;
  int64_t device = 5;
  ASSERT_EQ(TRITONBACKEND_InputBuffer(input("A"), 1, &data, &size, &type, &device), nullptr);
  EXPECT_EQ(std::string(static_cast<const char*>(data), size), "efghijkl");
  EXPECT_EQ(type, TRITONSERVER_MEMORY_CPU);
  EXPECT_EQ(device, 0);
  ASSERT_EQ(TRITONBACKEND_InputBufferForHostPolicy(input("A"), nullptr, 0, &data, &size, &type, &device),
            nullptr);
  EXPECT_EQ(std::string(static_cast<const char*>(data), size), "abcd");
  EXPECT_EQ(take_error(TRITONBACKEND_InputBuffer(input("A"), 2, &data, &size, &type, &device)).text(),
            "input 'A' has 2 buffers, no buffer 2");
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(size, 0u);
}

TEST_F(CRequest, AttributesOfABuffer) {
  request.add_raw_input("A", DataType::kInt16, {2, 3}, "abcdefghijkl", {4});
  atl::Buffer device_buffer{nullptr, 64, atl::MemoryKind::kGpu, 3};
  request->inputs[0].buffers = {&device_buffer, 1};
  const void* data = nullptr;
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  ASSERT_EQ(TRITONBACKEND_InputBufferAttributes(input("A"), 0, &data, &attributes), nullptr);
  auto type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  size_t size = 0;
  void* ipc = &device;
  EXPECT_EQ(TRITONSERVER_BufferAttributesMemoryType(attributes, &type), nullptr);
  EXPECT_EQ(TRITONSERVER_BufferAttributesMemoryTypeId(attributes, &device), nullptr);
  EXPECT_EQ(TRITONSERVER_BufferAttributesByteSize(attributes, &size), nullptr);
  EXPECT_EQ(TRITONSERVER_BufferAttributesCudaIpcHandle(attributes, &ipc), nullptr);
  EXPECT_EQ(type, TRITONSERVER_MEMORY_GPU);
  EXPECT_EQ(device, 3);
  EXPECT_EQ(size, 64u);
  EXPECT_EQ(ipc, nullptr);
  EXPECT_EQ(take_error(TRITONBACKEND_InputBufferAttributes(input("A"), 1, &data, &attributes)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(attributes, nullptr);
}

TEST_F(CRequest, AttributesLastAsLongAsTheInput) {
  request.add_raw_input("A", DataType::kInt16, {2, 3}, "abcdefghijkl", {4});
  TRITONBACKEND_Input* a = input("A");
  const void* data = nullptr;
  TRITONSERVER_BufferAttributes *first = nullptr, *second = nullptr, *again = nullptr;
  EXPECT_EQ(TRITONBACKEND_InputBufferAttributes(a, 0, &data, &first), nullptr);
  EXPECT_EQ(TRITONBACKEND_InputBufferAttributes(a, 1, &data, &second), nullptr);
  EXPECT_EQ(TRITONBACKEND_InputBufferAttributes(a, 0, &data, &again), nullptr);
  EXPECT_EQ(first, again);
  size_t size = 0;
  EXPECT_EQ(TRITONSERVER_BufferAttributesByteSize(first, &size), nullptr);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(TRITONSERVER_BufferAttributesByteSize(second, &size), nullptr);
  EXPECT_EQ(size, 8u);
}

/// Bytes that a device is still writing.
class Pending final : public atl::DeviceEvent {
 public:
  virtual ~Pending() = default;
  bool is_reached() noexcept override { return waits != 0; }
  atl::Status wait() noexcept override {
    ++waits;
    return fails ? atl::internal_error("the device failed") : atl::Status();
  }
  void* native_handle() noexcept override { return nullptr; }
  int waits = 0;
  bool fails = false;
};

TEST_F(CRequest, BytesThatAreBeingWrittenAreWaitedFor) {
  request.add_raw_input("A", DataType::kInt16, {1}, "ab");
  Pending pending;
  atl::Buffer buffer = request->inputs[0].buffers[0];
  buffer.ready_after = &pending;
  request->inputs[0].buffers = {&buffer, 1};
  const void* data = nullptr;
  uint64_t size = 0;
  auto type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  EXPECT_EQ(TRITONBACKEND_InputBuffer(input("A"), 0, &data, &size, &type, &device), nullptr);
  EXPECT_EQ(pending.waits, 1);
  pending.fails = true;
  EXPECT_EQ(take_error(TRITONBACKEND_InputBuffer(input("A"), 0, &data, &size, &type, &device)).text(),
            "the device failed");
  EXPECT_EQ(data, nullptr);
}

TEST_F(CRequest, ManyInputs) {
  for (int i = 0; i < 100; ++i) request.add_input<float>("I" + std::to_string(i), DataType::kFp32, {1}, {1});
  TRITONBACKEND_Request* many = handle();
  TRITONBACKEND_Input *named = nullptr, *indexed = nullptr;
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(TRITONBACKEND_RequestInput(many, ("I" + std::to_string(i)).c_str(), &named), nullptr);
    ASSERT_EQ(TRITONBACKEND_RequestInputByIndex(many, i, &indexed), nullptr);
    EXPECT_EQ(named, indexed);
    const char* name = nullptr;
    ASSERT_EQ(TRITONBACKEND_InputProperties(named, &name, nullptr, nullptr, nullptr, nullptr, nullptr),
              nullptr);
    EXPECT_EQ(name, "I" + std::to_string(i));
  }
}

TEST_F(CRequest, WhereTheClientWantsAnOutput) {
  char place[16];
  request.add_output("X");
  request.add_output("Y", place);
  request->outputs[1].placement.kind = atl::MemoryKind::kGpu;
  request->outputs[1].placement.device_id = 2;
  size_t size = 9;
  auto type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  EXPECT_EQ(TRITONBACKEND_RequestOutputBufferProperties(handle(), "Y", &size, &type, &device), nullptr);
  EXPECT_EQ(type, TRITONSERVER_MEMORY_GPU);
  EXPECT_EQ(device, 2);
  EXPECT_EQ(size, 9u);
  for (const char* name : {"X", "?", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(take_error(TRITONBACKEND_RequestOutputBufferProperties(handle(), name, nullptr, &type, &device))
                  .code(),
              Code::kUnavailable);
  }
}

TEST_F(CRequest, AStrategyOnlyReads) {
  TRITONBACKEND_Request* read_only = handle();
  TRITONBACKEND_Response* response = nullptr;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  TRITONBACKEND_State* state = nullptr;
  TRITONSERVER_InferenceTrace* trace = nullptr;
  const int64_t shape = 1;
  EXPECT_EQ(TRITONBACKEND_RequestTrace(read_only, &trace), nullptr);
  EXPECT_EQ(trace, nullptr);
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_ResponseNew(&response, read_only),
        TRITONBACKEND_ResponseFactoryNew(&factory, read_only),
        TRITONBACKEND_StateNew(&state, read_only, "S", TRITONSERVER_TYPE_INT8, &shape, 1),
        TRITONBACKEND_RequestRelease(read_only, TRITONSERVER_REQUEST_RELEASE_ALL),
        TRITONBACKEND_RequestRelease(read_only, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)}) {
    EXPECT_EQ(take_error(error).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(take_error(TRITONBACKEND_ResponseNew(&response, read_only)).text(),
            "TRITONBACKEND_ResponseNew: the request is only to be read");
}

TEST_F(CRequest, NullArgumentsAreErrors) {
  request.add_input<float>("A", DataType::kFp32, {1}, {1});
  const char* text = nullptr;
  const void* data = nullptr;
  uint32_t count = 0;
  uint64_t number = 0;
  bool flag = false;
  TRITONSERVER_ParameterType type;
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  TRITONBACKEND_Input* found = nullptr;
  TRITONBACKEND_Request* none = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_RequestId(none, &text),
        TRITONBACKEND_RequestId(handle(), nullptr),
        TRITONBACKEND_RequestCorrelationId(none, &number),
        TRITONBACKEND_RequestCorrelationIdString(none, &text),
        TRITONBACKEND_RequestFlags(none, &count),
        TRITONBACKEND_RequestIsCancelled(none, &flag),
        TRITONBACKEND_InferenceRequestTimeoutMicroseconds(none, &number),
        TRITONBACKEND_RequestParameterCount(none, &count),
        TRITONBACKEND_RequestParameter(none, 0, &text, &type, &data),
        TRITONBACKEND_RequestInputCount(handle(), nullptr),
        TRITONBACKEND_RequestInputName(none, 0, &text),
        TRITONBACKEND_RequestInput(handle(), nullptr, &found),
        TRITONBACKEND_RequestInput(handle(), "A", nullptr),
        TRITONBACKEND_RequestInputByIndex(none, 0, &found),
        TRITONBACKEND_RequestOutputCount(none, &count),
        TRITONBACKEND_RequestOutputName(none, 0, &text),
        TRITONBACKEND_RequestOutputBufferProperties(none, "Y", nullptr, nullptr, nullptr),
        TRITONBACKEND_RequestTrace(handle(), nullptr),
        TRITONBACKEND_InputProperties(nullptr, &text, nullptr, nullptr, nullptr, nullptr, nullptr),
        TRITONBACKEND_InputBuffer(input("A"), 0, &data, nullptr, nullptr, nullptr),
        TRITONBACKEND_InputBufferAttributes(nullptr, 0, &data, &attributes),
        TRITONSERVER_BufferAttributesMemoryTypeId(nullptr, nullptr)}) {
    EXPECT_EQ(take_error(error).code(), Code::kInvalidArgument);
  }
}

}  // namespace
