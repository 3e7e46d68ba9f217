/// Responses and their outputs.
#include "atoll/request/sink_interposer.h"
#include "atoll/testing/fake_catalog.h"
#include "testing/executed_request.h"

namespace atl::triton {
namespace {

class CResponse : public ExecutedRequest {};

TEST_F(CResponse, CarriesOutputsAndParameters) {
  TRITONBACKEND_Response* response = new_response();
  write(add_output(response, "A", {2, 1}), "xy");
  EXPECT_DONE(TRITONBACKEND_ResponseSetStringParameter(response, "text", "value"));
  EXPECT_DONE(TRITONBACKEND_ResponseSetIntParameter(response, "int", -5));
  EXPECT_DONE(TRITONBACKEND_ResponseSetBoolParameter(response, "bool", true));
  EXPECT_DONE(TRITONBACKEND_ResponseSetDoubleParameter(response, "double", 0.5));
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  release();
  const auto answer = request.response();
  EXPECT_EQ(answer.code, Code::kOk);
  EXPECT_TRUE(answer.final());
  ASSERT_EQ(answer.outputs.size(), 1u);
  EXPECT_EQ(answer.outputs[0].bytes, "xy");
  EXPECT_EQ(answer.outputs[0].datatype, DataType::kInt8);
  EXPECT_EQ(answer.outputs[0].shape, (std::vector<int64_t>{2, 1}));
}

/// Looks at the parameters as they are sent.
class ParameterSink final : public SinkInterposer {
 public:
  virtual ~ParameterSink() = default;
  void send(Response* response, uint32_t flags) noexcept override {
    for (const Parameter& parameter : response->parameters) {
      seen.push_back(cat(parameter.key, " ", static_cast<uint32_t>(parameter.type), " ", parameter.text, " ",
                         parameter.int_value));
    }
    SinkInterposer::send(response, flags);
  }
  std::vector<std::string> seen;
};

TEST_F(CResponse, ParametersAreCopied) {
  ParameterSink sink;
  sink.interpose(*request);
  TRITONBACKEND_Response* response = new_response();
  std::string name = "key", value = "value";
  EXPECT_DONE(TRITONBACKEND_ResponseSetStringParameter(response, name.c_str(), value.c_str()));
  EXPECT_DONE(TRITONBACKEND_ResponseSetIntParameter(response, name.c_str(), 7));
  EXPECT_DONE(TRITONBACKEND_ResponseSetBoolParameter(response, "flag", true));
  name = value = "xxxxx";
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  EXPECT_EQ(sink.seen, (std::vector<std::string>{"key 0 value 0", "key 1  7", "flag 2  1"}));
  release();
}

TEST_F(CResponse, OutputsAreMadeAndFilledInAnyOrder) {
  TRITONBACKEND_Response* response = new_response();
  TRITONBACKEND_Output* a = add_output(response, "A");
  TRITONBACKEND_Output* b = add_output(response, "B", {4});
  write(b, "bbbb");
  write(a, "a");
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  release();
  const auto answer = request.response();
  ASSERT_NE(answer.find("A"), nullptr);
  ASSERT_NE(answer.find("B"), nullptr);
  EXPECT_EQ(answer.find("A")->bytes, "a");
  EXPECT_EQ(answer.find("B")->bytes, "bbbb");
}

TEST_F(CResponse, AnOutputWithoutMemoryHasNoBytes) {
  TRITONBACKEND_Response* response = new_response();
  add_output(response, "A", {0});
  write(add_output(response, "B"), "b");
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  release();
  const auto answer = request.response();
  ASSERT_NE(answer.find("A"), nullptr);
  EXPECT_EQ(answer.find("A")->bytes, "");
  EXPECT_EQ(answer.find("B")->bytes, "b");
}

TEST_F(CResponse, MemoryIsGivenOnce) {
  TRITONBACKEND_Response* response = new_response();
  TRITONBACKEND_Output* output = add_output(response, "A");
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  EXPECT_REFUSED(TRITONBACKEND_OutputBufferAttributes(output, &attributes));
  void* buffer = nullptr;
  auto type = TRITONSERVER_MEMORY_GPU;
  int64_t device = 1;
  EXPECT_DONE(TRITONBACKEND_OutputBuffer(output, &buffer, 8, &type, &device));
  EXPECT_NE(buffer, nullptr);
  EXPECT_EQ(type, TRITONSERVER_MEMORY_CPU) << "the sink has none of the other kind";
  EXPECT_EQ(device, 0);
  EXPECT_EQ(failure_of(TRITONBACKEND_OutputBuffer(output, &buffer, 8, &type, &device)), Code::kAlreadyExists);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_DONE(TRITONBACKEND_OutputBufferAttributes(output, &attributes));
  size_t size = 0;
  EXPECT_DONE(TRITONSERVER_BufferAttributesByteSize(attributes, &size));
  EXPECT_EQ(size, 8u);
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  finish();
}

TEST_F(CResponse, MemoryThatIsRefusedIsAnError) {
  request.fail_allocations(Code::kResourceExhausted, "full");
  TRITONBACKEND_Response* response = new_response();
  TRITONBACKEND_Output* output = add_output(response, "A");
  void* buffer = &response;
  auto type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  Status status = take_error(TRITONBACKEND_OutputBuffer(output, &buffer, 8, &type, &device));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.text(), "full");
  EXPECT_EQ(buffer, nullptr);
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  release();
  EXPECT_EQ(request.response().code, Code::kInternal);
  EXPECT_EQ(request.response().message, "output 'A' has no memory: it was refused");
}

TEST_F(CResponse, WhatIsWrongWithAnOutput) {
  TRITONBACKEND_Response* response = new_response();
  auto* output = reinterpret_cast<TRITONBACKEND_Output*>(response);
  const int64_t shape[] = {1, -1, int64_t{1} << 62};
  const std::vector<int64_t> deep(kMaxRank + 1, 1);
  EXPECT_REFUSED(TRITONBACKEND_ResponseOutput(response, &output, "", TRITONSERVER_TYPE_INT8, shape, 1));
  EXPECT_EQ(output, nullptr);
  for (int type : {0, -1, 15, 99}) {
    EXPECT_REFUSED(TRITONBACKEND_ResponseOutput(response, &output, "A",
                                                static_cast<TRITONSERVER_DataType>(type), shape, 1));
  }
  EXPECT_EQ(text_of(TRITONBACKEND_ResponseOutput(response, &output, "A", TRITONSERVER_TYPE_INT8, shape, 2)),
            "output 'A' has the shape [1,-1]");
  EXPECT_REFUSED(
      TRITONBACKEND_ResponseOutput(response, &output, "A", TRITONSERVER_TYPE_INT8, deep.data(), 33));
  add_output(response, "A", {});
  EXPECT_EQ(text_of(TRITONBACKEND_ResponseOutput(response, &output, "A", TRITONSERVER_TYPE_INT8, shape, 1)),
            "the response has output 'A' already");
  void* buffer = nullptr;
  auto type = static_cast<TRITONSERVER_MemoryType>(3);
  int64_t device = 0;
  EXPECT_REFUSED(TRITONBACKEND_OutputBuffer(add_output(response, "B"), &buffer, 1, &type, &device));
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  finish();
}

TEST_F(CResponse, OutputsAreThoseOfTheModel) {
  ModelInfo info;
  info.name = "m";
  info.outputs.resize(2);
  info.outputs[0].name = "A";
  info.outputs[1].name = "B";
  test::FakeServedModel model(info);
  request->model = &model;
  TRITONBACKEND_Response* response = new_response();
  TRITONBACKEND_Output* output = nullptr;
  const int64_t shape = 1;
  EXPECT_DONE(TRITONBACKEND_ResponseOutput(response, &output, "B", TRITONSERVER_TYPE_INT8, &shape, 1));
  EXPECT_EQ(text_of(TRITONBACKEND_ResponseOutput(response, &output, "?", TRITONSERVER_TYPE_INT8, &shape, 1)),
            "unexpected inference output '?' for model 'm'");
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  finish();
}

TEST_F(CResponse, CanBeLookedInto) {
  TRITONBACKEND_Response* response = new_response();
  add_output(response, "B", {3, 4});
  add_output(response, "A");
  const char* name = nullptr;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint64_t rank = 0;
  EXPECT_DONE(TRITONBACKEND_InferenceResponseOutput(response, 1, &name, &type, &shape, &rank));
  EXPECT_STREQ(name, "A");
  EXPECT_DONE(TRITONBACKEND_InferenceResponseOutputByName(response, "B", &type, &shape, &rank));
  EXPECT_EQ(type, TRITONSERVER_TYPE_INT8);
  EXPECT_EQ(std::vector<int64_t>(shape, shape + rank), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(text_of(TRITONBACKEND_InferenceResponseOutput(response, 2, &name, &type, &shape, &rank)),
            "the response has 2 outputs, no output 2");
  EXPECT_REFUSED(TRITONBACKEND_InferenceResponseOutputByName(response, "C", &type, &shape, &rank));
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  finish();
}

TEST_F(CResponse, AnErrorIsTheAnswerInsteadOfOutputs) {
  TRITONBACKEND_Response* response = new_response();
  add_output(response, "A");
  TRITONSERVER_Error* error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_NOT_FOUND, "no such thing");
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, error));
  EXPECT_STREQ(TRITONSERVER_ErrorMessage(error), "no such thing") << "it is the caller's";
  TRITONSERVER_ErrorDelete(error);
  release();
  EXPECT_EQ(request.response().code, Code::kNotFound);
  EXPECT_EQ(request.response().message, "no such thing");
  EXPECT_TRUE(request.response().outputs.empty());
}

TEST_F(CResponse, SentOrDeletedItIsGone) {
  TRITONBACKEND_Response* deleted = new_response();
  TRITONBACKEND_Response* sent = new_response();
  TRITONBACKEND_Output* output = add_output(sent, "A");
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(deleted));
  EXPECT_DONE(TRITONBACKEND_ResponseSend(sent, 0, nullptr));
  void* buffer = nullptr;
  auto type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  EXPECT_REFUSED(TRITONBACKEND_OutputBuffer(output, &buffer, 1, &type, &device));
  EXPECT_REFUSED(TRITONBACKEND_OutputBufferAttributes(output, &attributes));
  for (TRITONBACKEND_Response* gone : {deleted, sent}) {
    EXPECT_REFUSED(TRITONBACKEND_ResponseSend(gone, kFinal, nullptr));
    EXPECT_REFUSED(TRITONBACKEND_ResponseDelete(gone));
    EXPECT_REFUSED(TRITONBACKEND_ResponseSetBoolParameter(gone, "x", true));
    EXPECT_REFUSED(TRITONBACKEND_ResponseOutput(gone, &output, "B", TRITONSERVER_TYPE_INT8, &device, 1));
  }
  finish();
  EXPECT_EQ(request.responses().size(), 2u);
}

TEST_F(CResponse, TheFinalOneEndsTheOthers) {
  TRITONBACKEND_Response* forgotten = new_response();
  TRITONBACKEND_Output* output = add_output(forgotten, "A");
  write(output, "a");
  send_final();
  EXPECT_REFUSED(TRITONBACKEND_ResponseSend(forgotten, kFinal, nullptr));
  EXPECT_REFUSED(TRITONBACKEND_ResponseDelete(forgotten));
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  EXPECT_REFUSED(TRITONBACKEND_OutputBufferAttributes(output, &attributes));
  TRITONBACKEND_Response* another = forgotten;
  EXPECT_EQ(text_of(TRITONBACKEND_ResponseNew(&another, handle())),
            "the final response of the request was sent, nothing can be sent for it any more");
  EXPECT_EQ(another, nullptr);
  release();
}

TEST_F(CResponse, UnknownFlagsTakeTheResponse) {
  TRITONBACKEND_Response* response = new_response();
  EXPECT_REFUSED(TRITONBACKEND_ResponseSend(response, 3, nullptr));
  EXPECT_REFUSED(TRITONBACKEND_ResponseDelete(response));
  EXPECT_TRUE(request.responses().empty());
  finish();
}

TEST_F(CResponse, NullArgumentsAreErrors) {
  TRITONBACKEND_Response* none = nullptr;
  TRITONBACKEND_Response* response = new_response();
  TRITONBACKEND_Output* output = nullptr;
  const char* text = nullptr;
  const int64_t* shape = nullptr;
  uint64_t rank = 0;
  void* buffer = nullptr;
  TRITONSERVER_DataType type;
  auto memory = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_ResponseNew(nullptr, handle()), TRITONBACKEND_ResponseNew(&none, nullptr),
        TRITONBACKEND_ResponseDelete(nullptr), TRITONBACKEND_ResponseSend(nullptr, 1, nullptr),
        TRITONBACKEND_ResponseSetStringParameter(none, "a", "b"),
        TRITONBACKEND_ResponseSetStringParameter(response, nullptr, "b"),
        TRITONBACKEND_ResponseSetStringParameter(response, "a", nullptr),
        TRITONBACKEND_ResponseSetIntParameter(none, "a", 1),
        TRITONBACKEND_ResponseSetBoolParameter(response, nullptr, true),
        TRITONBACKEND_ResponseSetDoubleParameter(none, "a", 1),
        TRITONBACKEND_ResponseOutput(none, &output, "A", TRITONSERVER_TYPE_INT8, nullptr, 0),
        TRITONBACKEND_ResponseOutput(response, nullptr, "A", TRITONSERVER_TYPE_INT8, nullptr, 0),
        TRITONBACKEND_ResponseOutput(response, &output, nullptr, TRITONSERVER_TYPE_INT8, nullptr, 0),
        TRITONBACKEND_ResponseOutput(response, &output, "A", TRITONSERVER_TYPE_INT8, nullptr, 1),
        TRITONBACKEND_OutputBuffer(nullptr, &buffer, 1, &memory, &device),
        TRITONBACKEND_OutputBufferAttributes(nullptr, &attributes),
        TRITONBACKEND_InferenceResponseOutput(none, 0, &text, &type, &shape, &rank),
        TRITONBACKEND_InferenceResponseOutput(response, 0, &text, &type, &shape, nullptr),
        TRITONBACKEND_InferenceResponseOutputByName(response, nullptr, &type, &shape, &rank)}) {
    EXPECT_REFUSED(error);
  }
  output = add_output(response, "A");
  EXPECT_REFUSED(TRITONBACKEND_OutputBuffer(output, nullptr, 1, &memory, &device));
  EXPECT_REFUSED(TRITONBACKEND_OutputBuffer(output, &buffer, 1, nullptr, &device));
  EXPECT_REFUSED(TRITONBACKEND_OutputBufferAttributes(output, nullptr));
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  finish();
}

}  // namespace
}  // namespace atl::triton
