/// What a program defines: requests before they are sent.
#include <gtest/gtest.h>

#include <limits>

#include "testing/program.h"

namespace atl::triton::test {
namespace {

/// What the model gets when the request is sent.
struct Seen {
  std::string id, sequence_text, inputs, outputs, parameters;
  uint64_t sequence_number = 0, priority = 0, timeout_us = 0;
  uint32_t flags = 0;
};

std::string text_of(const InputTensor& input) {
  std::string text = cat(input.name, ":", data_type_name(input.datatype), shape_text(input.shape), "=");
  for (const Buffer& buffer : input.buffers) {
    text.append(static_cast<const char*>(buffer.data), buffer.size_bytes).append("|");
  }
  return cat(text, input.size_bytes, (input.flags & InputTensor::kRaw) != 0 ? " raw;" : ";");
}

std::string text_of(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::kInt:
      return cat(parameter.key, "=", parameter.int_value, ";");
    case ParameterType::kBool:
      return cat(parameter.key, "=", parameter.bool_value, ";");
    case ParameterType::kDouble:
      return cat(parameter.key, "=", parameter.double_value, ";");
    default:
      return cat(parameter.key, "=", parameter.text, ";");
  }
}

class InferenceRequest : public InProcess {
 protected:
  InferenceRequest() {
    model.respond = [this](Request& made) {
      seen = {};
      seen.id = made.id;
      seen.sequence_text = made.sequence.text;
      seen.sequence_number = made.sequence.number;
      seen.priority = made.priority;
      seen.timeout_us = made.timeout_us;
      seen.flags = made.sequence_flags;
      for (const InputTensor& input : made.inputs) seen.inputs += text_of(input);
      for (const RequestedOutput& output : made.outputs) seen.outputs += cat(output.name, ";");
      for (const Parameter& parameter : made.parameters) seen.parameters += text_of(parameter);
      made.sink->send(nullptr, kFinal);
      EXPECT_TRUE(made.release().ok());
    };
  }
  Seen seen;
  ProgramRequest request{server, allocator};
  TRITONSERVER_InferenceRequest* handle = request.handle();
};

TEST_F(InferenceRequest, IsForAModelThatIsThere) {
  TRITONSERVER_InferenceRequest* made = nullptr;
  expect_error(TRITONSERVER_InferenceRequestNew(&made, &server, "other", -1), TRITONSERVER_ERROR_NOT_FOUND,
               "Request for unknown model: 'other' is not found");
  EXPECT_EQ(made, nullptr);
  expect_error(TRITONSERVER_InferenceRequestNew(&made, &server, "m", 7), TRITONSERVER_ERROR_NOT_FOUND);
  server.catalog.set_exiting(true);
  expect_error(TRITONSERVER_InferenceRequestNew(&made, &server, "m", -1), TRITONSERVER_ERROR_UNAVAILABLE);
  EXPECT_EQ(model.references(), 1);
  request.forget();
  expect_ok(TRITONSERVER_InferenceRequestDelete(handle));
  EXPECT_EQ(model.references(), 0) << "nothing else holds it";
}

TEST_F(InferenceRequest, HasProperties) {
  const char* text = nullptr;
  uint64_t number = 9;
  uint32_t small = 9;
  expect_ok(TRITONSERVER_InferenceRequestId(handle, &text));
  EXPECT_STREQ(text, "");
  expect_ok(TRITONSERVER_InferenceRequestCorrelationId(handle, &number));
  EXPECT_EQ(number, 0u);
  expect_ok(TRITONSERVER_InferenceRequestCorrelationIdString(handle, &text));
  EXPECT_STREQ(text, "");
  expect_ok(TRITONSERVER_InferenceRequestFlags(handle, &small));
  EXPECT_EQ(small, 0u);

  expect_ok(TRITONSERVER_InferenceRequestSetId(handle, "id"));
  expect_ok(TRITONSERVER_InferenceRequestSetFlags(handle, 3));
  expect_ok(TRITONSERVER_InferenceRequestSetCorrelationId(handle, 7));
  expect_ok(TRITONSERVER_InferenceRequestSetPriority(handle, 4));
  expect_ok(TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(handle, 1000));
  expect_ok(TRITONSERVER_InferenceRequestId(handle, &text));
  EXPECT_STREQ(text, "id");
  expect_ok(TRITONSERVER_InferenceRequestFlags(handle, &small));
  EXPECT_EQ(small, 3u);
  expect_ok(TRITONSERVER_InferenceRequestPriority(handle, &small));
  EXPECT_EQ(small, 4u);
  expect_ok(TRITONSERVER_InferenceRequestPriorityUInt64(handle, &number));
  EXPECT_EQ(number, 4u);
  expect_ok(TRITONSERVER_InferenceRequestTimeoutMicroseconds(handle, &number));
  EXPECT_EQ(number, 1000u);
  expect_ok(request.infer());
  EXPECT_EQ(seen.id, "id");
  EXPECT_EQ(seen.flags, 3u);
  EXPECT_EQ(seen.sequence_number, 7u);
  EXPECT_EQ(seen.priority, 4u);
  EXPECT_EQ(seen.timeout_us, 1000u);

  expect_ok(TRITONSERVER_InferenceRequestSetPriorityUInt64(handle, uint64_t{1} << 32));
  expect_invalid(TRITONSERVER_InferenceRequestPriority(handle, &small));
  expect_invalid(TRITONSERVER_InferenceRequestSetFlags(handle, 4));
}

TEST_F(InferenceRequest, ACorrelationIdIsANumberOrAText) {
  const char* text = nullptr;
  uint64_t number = 0;
  expect_ok(TRITONSERVER_InferenceRequestSetCorrelationId(handle, 7));
  expect_invalid(TRITONSERVER_InferenceRequestCorrelationIdString(handle, &text));
  expect_ok(TRITONSERVER_InferenceRequestSetCorrelationIdString(handle, "seven"));
  expect_invalid(TRITONSERVER_InferenceRequestCorrelationId(handle, &number));
  expect_ok(TRITONSERVER_InferenceRequestCorrelationIdString(handle, &text));
  EXPECT_STREQ(text, "seven");
  expect_ok(request.infer());
  EXPECT_EQ(seen.sequence_text, "seven");
  EXPECT_EQ(seen.sequence_number, 0u);
  expect_ok(TRITONSERVER_InferenceRequestSetCorrelationIdString(handle, std::string(128, 'x').c_str()));
  expect_error(TRITONSERVER_InferenceRequestSetCorrelationIdString(handle, std::string(129, 'x').c_str()),
               TRITONSERVER_ERROR_UNSUPPORTED, "a correlation id has 129 bytes, expected at most 128");
  expect_ok(TRITONSERVER_InferenceRequestSetCorrelationId(handle, 8));
  expect_ok(request.infer());
  EXPECT_EQ(seen.sequence_text, "");
  EXPECT_EQ(seen.sequence_number, 8u);
}

TEST_F(InferenceRequest, InputsComeAndGo) {
  const int64_t shape[] = {2, 3};
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle, "A", TRITONSERVER_TYPE_INT16, shape, 2));
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle, "B", TRITONSERVER_TYPE_BYTES, nullptr, 0));
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle, "C", TRITONSERVER_TYPE_BF16, shape, 1));
  expect_invalid(TRITONSERVER_InferenceRequestAddInput(handle, "A", TRITONSERVER_TYPE_INT16, shape, 2),
                 "[request id: <id_unknown>] input 'A' already exists in request");
  for (const char* piece : {"abcd", "efgh", ""}) {
    expect_ok(TRITONSERVER_InferenceRequestAppendInputData(handle, "A", piece, std::strlen(piece),
                                                           TRITONSERVER_MEMORY_CPU, 0));
  }
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  expect_ok(TRITONSERVER_BufferAttributesNew(&attributes));
  expect_ok(TRITONSERVER_BufferAttributesSetByteSize(attributes, 2));
  expect_ok(TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(handle, "C", "xy", attributes));
  expect_ok(TRITONSERVER_BufferAttributesDelete(attributes));
  expect_ok(TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(handle, "C", "zz", 2,
                                                                       TRITONSERVER_MEMORY_CPU, 0, "numa_0"));
  expect_ok(TRITONSERVER_InferenceRequestRemoveInput(handle, "B"));
  expect_ok(request.infer());
  EXPECT_EQ(seen.inputs, "A:INT16[2,3]=abcd|efgh|8;C:BF16[2]=xy|2;");
  expect_ok(request.infer());
  EXPECT_EQ(seen.inputs, "A:INT16[2,3]=abcd|efgh|8;C:BF16[2]=xy|2;") << "it stays";

  expect_ok(TRITONSERVER_InferenceRequestRemoveAllInputData(handle, "A"));
  expect_ok(TRITONSERVER_InferenceRequestAppendInputData(handle, "A", "1", 1, TRITONSERVER_MEMORY_CPU, 0));
  expect_ok(request.infer());
  EXPECT_EQ(seen.inputs, "A:INT16[2,3]=1|1;C:BF16[2]=xy|2;");
  expect_ok(TRITONSERVER_InferenceRequestRemoveAllInputs(handle));
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle, "D", TRITONSERVER_TYPE_BOOL, shape, 1));
  expect_ok(request.infer());
  EXPECT_EQ(seen.inputs, "D:BOOL[2]=0;");

  expect_invalid(TRITONSERVER_InferenceRequestRemoveInput(handle, "A"), "the request has no input 'A'");
  expect_invalid(
      TRITONSERVER_InferenceRequestAppendInputData(handle, "A", "1", 1, TRITONSERVER_MEMORY_CPU, 0));
  expect_invalid(TRITONSERVER_InferenceRequestRemoveAllInputData(handle, "A"));
  expect_invalid(TRITONSERVER_InferenceRequestAppendInputData(handle, "D", "1", 1,
                                                              static_cast<TRITONSERVER_MemoryType>(5), 0));
  expect_invalid(
      TRITONSERVER_InferenceRequestAppendInputData(handle, "D", "1", 1, TRITONSERVER_MEMORY_GPU, -1));
  expect_invalid(
      TRITONSERVER_InferenceRequestAppendInputData(handle, "D", nullptr, 1, TRITONSERVER_MEMORY_CPU, 0));
  for (int type : {-1, 15}) {
    expect_invalid(TRITONSERVER_InferenceRequestAddInput(handle, "E",
                                                         static_cast<TRITONSERVER_DataType>(type), shape, 2));
  }
  // The model refuses it.
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle, "E", TRITONSERVER_TYPE_INVALID, shape, 2));
  expect_ok(TRITONSERVER_InferenceRequestRemoveInput(handle, "E"));
  const std::vector<int64_t> deep(33, 1);
  expect_invalid(
      TRITONSERVER_InferenceRequestAddInput(handle, "E", TRITONSERVER_TYPE_BOOL, deep.data(), deep.size()),
      "input 'E' has 33 dimensions, expected at most 32");
}

TEST_F(InferenceRequest, ARawInputIsAlone) {
  expect_ok(TRITONSERVER_InferenceRequestAddRawInput(handle, "any"));
  expect_ok(
      TRITONSERVER_InferenceRequestAppendInputData(handle, "any", "abc", 3, TRITONSERVER_MEMORY_CPU, 0));
  expect_invalid(TRITONSERVER_InferenceRequestAddInput(handle, "A", TRITONSERVER_TYPE_BOOL, nullptr, 0));
  expect_invalid(TRITONSERVER_InferenceRequestAddRawInput(handle, "other"));
  expect_ok(request.infer());
  EXPECT_EQ(seen.inputs, ":<invalid>[]=abc|3 raw;");
  expect_ok(TRITONSERVER_InferenceRequestRemoveInput(handle, "any"));
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle, "A", TRITONSERVER_TYPE_BOOL, nullptr, 0));
}

TEST_F(InferenceRequest, OutputsComeAndGo) {
  for (const char* name : {"A", "B", "A", "C"}) {
    expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(handle, name));
  }
  expect_ok(TRITONSERVER_InferenceRequestRemoveRequestedOutput(handle, "B"));
  expect_ok(TRITONSERVER_InferenceRequestRemoveRequestedOutput(handle, "unknown"));
  expect_ok(request.infer());
  EXPECT_EQ(seen.outputs, "A;C;");
  expect_ok(TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(handle));
  expect_ok(request.infer());
  EXPECT_EQ(seen.outputs, "");
}

TEST_F(InferenceRequest, ParametersOfEveryType) {
  expect_ok(TRITONSERVER_InferenceRequestSetStringParameter(handle, "s", "text"));
  expect_ok(TRITONSERVER_InferenceRequestSetIntParameter(handle, "i", -5));
  expect_ok(TRITONSERVER_InferenceRequestSetBoolParameter(handle, "b", true));
  expect_ok(TRITONSERVER_InferenceRequestSetDoubleParameter(handle, "d", 0.5));
  expect_ok(TRITONSERVER_InferenceRequestSetStringParameter(handle, "i", "now a text"));
  expect_ok(request.infer());
  EXPECT_EQ(seen.parameters, "s=text;i=now a text;b=true;d=0.5;");
}

TEST_F(InferenceRequest, ADeletedOneIsFoundOut) {
  request.forget();
  expect_ok(TRITONSERVER_InferenceRequestSetId(handle, "old"));
  expect_ok(TRITONSERVER_InferenceRequestDelete(handle));
  expect_invalid(TRITONSERVER_InferenceRequestDelete(handle),
                 "TRITONSERVER_InferenceRequestDelete: the request was deleted");
  expect_invalid(TRITONSERVER_InferenceRequestSetId(handle, "x"));
  expect_invalid(TRITONSERVER_InferenceRequestCancel(handle));
  expect_invalid(TRITONSERVER_ServerInferAsync(&server, handle, nullptr));
  TRITONSERVER_InferenceRequest* again = nullptr;
  expect_ok(TRITONSERVER_InferenceRequestNew(&again, &server, "m", -1));
  const char* text = "x";
  expect_ok(TRITONSERVER_InferenceRequestId(again, &text));
  EXPECT_STREQ(text, "") << "nothing is left of an earlier one";
  expect_invalid(
      TRITONSERVER_ServerInferAsync(&server, again, nullptr),
      "TRITONSERVER_ServerInferAsync: the request has no release callback, or no response callback");
  expect_ok(TRITONSERVER_InferenceRequestDelete(again));
}

TEST_F(InferenceRequest, NullArgumentsAreErrors) {
  TRITONSERVER_InferenceRequest* none = nullptr;
  TRITONSERVER_ResponseAllocator* made = nullptr;
  const char* text = nullptr;
  bool flag = false;
  for (TRITONSERVER_Error* error :
       {TRITONSERVER_InferenceRequestNew(nullptr, &server, "m", -1),
        TRITONSERVER_InferenceRequestNew(&none, nullptr, "m", -1),
        TRITONSERVER_InferenceRequestNew(&none, &server, nullptr, -1),
        TRITONSERVER_InferenceRequestDelete(none),
        TRITONSERVER_InferenceRequestId(none, &text),
        TRITONSERVER_InferenceRequestId(handle, nullptr),
        TRITONSERVER_InferenceRequestSetId(handle, nullptr),
        TRITONSERVER_InferenceRequestSetFlags(none, 0),
        TRITONSERVER_InferenceRequestCorrelationId(handle, nullptr),
        TRITONSERVER_InferenceRequestSetCorrelationIdString(handle, nullptr),
        TRITONSERVER_InferenceRequestPriority(none, nullptr),
        TRITONSERVER_InferenceRequestCancel(none),
        TRITONSERVER_InferenceRequestIsCancelled(none, &flag),
        TRITONSERVER_InferenceRequestIsCancelled(handle, nullptr),
        TRITONSERVER_InferenceRequestAddInput(handle, nullptr, TRITONSERVER_TYPE_BOOL, nullptr, 0),
        TRITONSERVER_InferenceRequestAddInput(handle, "A", TRITONSERVER_TYPE_BOOL, nullptr, 1),
        TRITONSERVER_InferenceRequestAddRawInput(none, "A"),
        TRITONSERVER_InferenceRequestRemoveInput(handle, nullptr),
        TRITONSERVER_InferenceRequestRemoveAllInputs(none),
        TRITONSERVER_InferenceRequestAddRequestedOutput(handle, nullptr),
        TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(none),
        TRITONSERVER_InferenceRequestSetStringParameter(handle, "a", nullptr),
        TRITONSERVER_InferenceRequestSetIntParameter(handle, nullptr, 1),
        TRITONSERVER_InferenceRequestSetReleaseCallback(handle, nullptr, nullptr),
        TRITONSERVER_InferenceRequestSetResponseCallback(handle, nullptr, nullptr, nullptr, nullptr),
        TRITONSERVER_ServerInferAsync(nullptr, handle, nullptr),
        TRITONSERVER_ServerInferAsync(&server, none, nullptr),
        TRITONSERVER_ResponseAllocatorNew(&made, nullptr, nullptr, nullptr),
        TRITONSERVER_ResponseAllocatorSetQueryFunction(nullptr, nullptr),
        TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(nullptr, nullptr),
        TRITONSERVER_ResponseAllocatorDelete(nullptr)}) {
    expect_invalid(error);
  }
}

}  // namespace
}  // namespace atl::triton::test
