/// Requests that are sent, and what comes back.
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "atoll/testing/conformance/response_sink.h"
#include "atoll/triton/request.h"
#include "testing/program.h"

namespace atl::triton::test {
namespace {

class InferAsync : public InProcess {};

TEST_F(InferAsync, AnswersComeBack) {
  ProgramRequest request(server, allocator);
  expect_ok(TRITONSERVER_InferenceRequestSetId(request.handle(), "r1"));
  request.add_input("INPUT0", "abc");
  TRITONSERVER_InferenceResponse* kept = nullptr;
  request.on_response = [&](TRITONSERVER_InferenceResponse* response, uint32_t) { kept = response; };
  expect_ok(request.infer());
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.releases(), 1);
  EXPECT_EQ(model.first_responses(), 1u);

  const char* text = nullptr;
  int64_t version = 0;
  expect_ok(TRITONSERVER_InferenceResponseModel(kept, &text, &version));
  EXPECT_STREQ(text, "m");
  EXPECT_EQ(version, 1);
  expect_ok(TRITONSERVER_InferenceResponseId(kept, &text));
  EXPECT_STREQ(text, "r1");
  void* userp = nullptr;
  expect_ok(TRITONSERVER_InferenceResponseOutput(kept, 0, nullptr, nullptr, nullptr, nullptr, nullptr,
                                                 nullptr, nullptr, nullptr, &userp));
  EXPECT_EQ(userp, &allocator) << "what the allocator gave";
  const auto response = request.responses().front();
  EXPECT_EQ(response.code, Code::kOk);
  EXPECT_TRUE(response.final());
  ASSERT_EQ(response.outputs.size(), 1u);
  EXPECT_EQ(response.outputs[0].name, "OUTPUT0");
  EXPECT_EQ(response.outputs[0].datatype, DataType::kUint8);
  EXPECT_EQ(response.outputs[0].shape, std::vector<int64_t>{3});
  EXPECT_EQ(response.outputs[0].bytes, "abc");
  EXPECT_EQ(allocator.starts, 1);
  EXPECT_EQ(allocator.releases, 0);
  expect_ok(TRITONSERVER_InferenceResponseDelete(kept));
  EXPECT_EQ(allocator.releases, 1);
  expect_invalid(TRITONSERVER_InferenceResponseDelete(kept),
                 "TRITONSERVER_InferenceResponseDelete: the response was deleted");
  expect_invalid(TRITONSERVER_InferenceResponseId(kept, &text));
}

TEST_F(InferAsync, AResponseOutlivesItsRequest) {
  TRITONSERVER_InferenceResponse* kept = nullptr;
  const std::string bytes(5000, 'x');
  {
    ProgramRequest request(server, allocator);
    expect_ok(TRITONSERVER_InferenceRequestSetId(request.handle(), "r1"));
    request.add_input("INPUT0", bytes);
    request.on_response = [&](TRITONSERVER_InferenceResponse* response, uint32_t) { kept = response; };
    expect_ok(request.infer());
    expect_ok(TRITONSERVER_InferenceRequestSetId(request.handle(), "another"));
    request.on_response = nullptr;
    expect_ok(request.infer());
  }
  EXPECT_EQ(model.references(), 1) << "only the response's";
  const auto copy = copy_of(kept, 0);
  ASSERT_EQ(copy.outputs.size(), 1u);
  EXPECT_EQ(copy.outputs[0].name, "OUTPUT0");
  EXPECT_EQ(copy.outputs[0].bytes, bytes);
  const char* id = nullptr;
  expect_ok(TRITONSERVER_InferenceResponseId(kept, &id));
  EXPECT_STREQ(id, "r1");
  expect_ok(TRITONSERVER_InferenceResponseDelete(kept));
  EXPECT_EQ(model.references(), 0);
  EXPECT_EQ(allocator.releases, allocator.allocations);
}

TEST_F(InferAsync, ARefusalLeavesTheRequestWithTheCaller) {
  model.refuse = [](Request&) { return invalid_argument("not so"); };
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  expect_invalid(request.infer(), "not so");
  EXPECT_TRUE(request.responses().empty());
  EXPECT_EQ(request.releases(), 0);
  EXPECT_EQ(model.references(), 1);
  model.refuse = nullptr;
  expect_ok(request.infer());
  EXPECT_EQ(request.responses().size(), 1u);
}

TEST_F(InferAsync, WhoComesWhenTheServerHasBegunToStopIsRefused) {
  Gate in_flight;
  server.in_flight = &in_flight;
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  in_flight.close();
  expect_error(request.infer(), TRITONSERVER_ERROR_UNAVAILABLE, "Server exiting");
  EXPECT_EQ(request.releases(), 0) << "the caller has the request";
  EXPECT_TRUE(request.responses().empty()) << "the model has never had it";
}

TEST_F(InferAsync, FailuresAreResponses) {
  model.respond = [](Request& request) { fail_request(request, unavailable("later")); };
  ProgramRequest request(server, allocator);
  request.on_response = [](TRITONSERVER_InferenceResponse* response, uint32_t) {
    TRITONSERVER_Error* first = TRITONSERVER_InferenceResponseError(response);
    TRITONSERVER_Error* second = TRITONSERVER_InferenceResponseError(response);
    EXPECT_NE(first, second) << "callers delete it";
    expect_error(first, TRITONSERVER_ERROR_UNAVAILABLE, "later");
    expect_error(second, TRITONSERVER_ERROR_UNAVAILABLE, "later");
    expect_ok(TRITONSERVER_InferenceResponseDelete(response));
  };
  expect_ok(request.infer());
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.responses()[0].code, Code::kUnavailable);
}

TEST_F(InferAsync, AnAllocatorThatFailsFailsTheOutput) {
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  allocator.fails = true;
  expect_ok(request.infer());
  EXPECT_EQ(request.responses()[0].message, "no memory today");
  EXPECT_EQ(request.responses()[0].code, Code::kUnavailable);
  allocator.fails = false;
  allocator.gives_nothing = true;
  expect_ok(request.infer());
  EXPECT_EQ(request.responses()[1].code, Code::kUnavailable);
  EXPECT_EQ(allocator.releases, 0) << "there was nothing to release";
}

TEST_F(InferAsync, AnOutputGetsMemoryOnce) {
  model.respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {1};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
    EXPECT_TRUE(response->allocate(output, 1).ok());
    EXPECT_EQ(response->allocate(output, 1).code(), Code::kAlreadyExists);
    request.sink->discard(response);
    request.sink->send(nullptr, kFinal);
    EXPECT_TRUE(request.release().ok());
  };
  ProgramRequest request(server, allocator);
  expect_ok(request.infer());
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_EQ(allocator.releases, 1);
}

TEST_F(InferAsync, OnlyWhatWasAskedForIsAnsweredAndOnce) {
  ProgramRequest request(server, allocator);
  expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(request.handle(), "A"));
  expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(request.handle(), "B"));
  std::vector<std::string> names = {"B", "other", "A"};
  model.respond = [&](Request& made) {
    Response* response = made.sink->new_response();
    const int64_t shape[] = {1};
    for (const std::string& name : names) {
      OutputTensor& output = response->add_output(name, DataType::kUint8, shape);
      ASSERT_TRUE(response->allocate(output, 1).ok());
      *static_cast<char*>(output.buffer.data) = name[0];
    }
    response->send();
    EXPECT_TRUE(made.release().ok());
  };
  expect_ok(request.infer());
  const auto good = request.responses().back();
  ASSERT_EQ(good.outputs.size(), 2u);
  EXPECT_EQ(good.outputs[0].bytes, "B");
  EXPECT_EQ(good.outputs[1].bytes, "A");
  EXPECT_EQ(allocator.allocations, 2) << "nobody asked for the other";
  names = {"A", "B", "A"};
  expect_ok(request.infer());
  EXPECT_EQ(request.responses().back().code, Code::kInternal);
  EXPECT_EQ(request.responses().back().message, "model 'm' answered output 'A' more than once in a response");
  EXPECT_EQ(allocator.releases, allocator.allocations);
}

TEST_F(InferAsync, LabelsAndParametersOfAResponse) {
  ModelInfo info;
  info.name = "labels";
  info.version = 1;
  info.outputs.emplace_back();
  info.outputs[0].name = "OUTPUT0";
  info.outputs[0].labels = {"cat", "", "dog"};
  auto& labelled = server.catalog.add(std::move(info));
  labelled.respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {0};
    EXPECT_TRUE(response->allocate(response->add_output("OUTPUT0", DataType::kFp32, shape), 0).ok());
    EXPECT_TRUE(response->allocate(response->add_output("OTHER", DataType::kFp32, shape), 0).ok());
    Parameter& number = response->parameters.add(response->arena());
    number.key = response->arena().copy_text("n");
    number.type = ParameterType::kInt;
    number.int_value = 5;
    Parameter& text = response->parameters.add(response->arena());
    text.key = response->arena().copy_text("t");
    text.text = response->arena().copy_text("value");
    response->send();
    EXPECT_TRUE(request.release().ok());
  };
  ProgramRequest request(server, allocator, "labels");
  request.on_response = [](TRITONSERVER_InferenceResponse* response, uint32_t) {
    const char* label = nullptr;
    const auto at = [&](uint32_t output, size_t index) {
      expect_ok(TRITONSERVER_InferenceResponseOutputClassificationLabel(response, output, index, &label));
      return label;
    };
    EXPECT_STREQ(at(0, 0), "cat");
    EXPECT_EQ(at(0, 1), nullptr);
    EXPECT_STREQ(at(0, 2), "dog");
    EXPECT_EQ(at(0, 3), nullptr);
    EXPECT_EQ(at(1, 0), nullptr);
    expect_invalid(TRITONSERVER_InferenceResponseOutputClassificationLabel(response, 2, 0, &label),
                   "the response has 2 outputs, no output 2");
    uint32_t count = 0;
    expect_ok(TRITONSERVER_InferenceResponseParameterCount(response, &count));
    EXPECT_EQ(count, 2u);
    const char* name = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_BYTES;
    const void* value = nullptr;
    expect_ok(TRITONSERVER_InferenceResponseParameter(response, 0, &name, &type, &value));
    EXPECT_STREQ(name, "n");
    EXPECT_EQ(type, TRITONSERVER_PARAMETER_INT);
    EXPECT_EQ(*static_cast<const int64_t*>(value), 5);
    expect_ok(TRITONSERVER_InferenceResponseParameter(response, 1, &name, &type, &value));
    EXPECT_STREQ(static_cast<const char*>(value), "value");
    expect_invalid(TRITONSERVER_InferenceResponseParameter(response, 2, &name, &type, &value));
    expect_invalid(TRITONSERVER_InferenceResponseOutput(response, 2, &name, nullptr, nullptr, nullptr,
                                                        nullptr, nullptr, nullptr, nullptr, nullptr));
    expect_ok(TRITONSERVER_InferenceResponseDelete(response));
  };
  expect_ok(request.infer());
  EXPECT_EQ(request.responses().size(), 1u);
}

TEST_F(InferAsync, ADecoupledModelAnswersAnyNumberOfTimes) {
  model.respond = [](Request& request) {
    for (int i = 0; i < 3; ++i) atl::test::answer_identity(request, 0);
    ResponseSink* sink = request.sink;
    EXPECT_TRUE(request.release().ok());
    sink->send(nullptr, kFinal);
  };
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  for (int round = 1; round < 4; ++round) {
    expect_ok(request.infer());
    const auto responses = request.responses();
    ASSERT_EQ(responses.size(), 4u * round);
    EXPECT_EQ(responses[0].outputs.at(0).bytes, "abc");
    EXPECT_FALSE(responses[2].final());
    EXPECT_TRUE(responses[3].empty && responses[3].final());
  }
  EXPECT_EQ(allocator.releases, 9);
}

// As in a server with a factory: the program has its request back, sends it again or deletes it, while responses to the
// first time are still to come.
TEST_F(InferAsync, TheReleaseMayComeFirstAndTheRequestBeDeletedInIt) {
  std::vector<std::pair<ResponseSink*, Response*>> open;
  model.respond = [&](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {2};
    OutputTensor& output = response->add_output(request.outputs[0], DataType::kUint8, shape);
    ASSERT_TRUE(response->allocate(output, 2).ok());
    std::memcpy(output.buffer.data, request.id.data(), 2);
    open.emplace_back(request.sink, response);
    EXPECT_TRUE(request.release().ok());
  };
  auto request = std::make_unique<ProgramRequest>(server, allocator);
  TRITONSERVER_InferenceRequest* handle = request->handle();
  expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(handle, "OUTPUT0"));
  expect_ok(TRITONSERVER_InferenceRequestSetId(handle, "r1"));
  expect_ok(request->infer());
  EXPECT_EQ(request->releases(), 1);
  expect_ok(TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(handle));
  expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(handle, "OUTPUT0 with a longer name"));
  expect_ok(TRITONSERVER_InferenceRequestSetId(handle, "r2"));
  request->on_release = [&](TRITONSERVER_InferenceRequest* released) {
    request->forget();
    expect_ok(TRITONSERVER_InferenceRequestDelete(released));
  };
  expect_ok(request->infer());
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(model.references(), 2);
  for (auto& [sink, response] : open) sink->send(response, kFinal);
  EXPECT_EQ(model.references(), 0);
  const auto responses = request->responses();
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_EQ(responses[0].outputs.at(0).name, "OUTPUT0");
  EXPECT_EQ(responses[0].outputs[0].bytes, "r1");
  EXPECT_EQ(responses[1].outputs.at(0).name, "OUTPUT0 with a longer name");
  EXPECT_EQ(responses[1].outputs[0].bytes, "r2");
}

TEST_F(InferAsync, InFlightNothingCanBeChanged) {
  Request* held = nullptr;
  model.respond = [&](Request& request) { held = &request; };
  ProgramRequest request(server, allocator);
  TRITONSERVER_InferenceRequest* handle = request.handle();
  request.add_input("INPUT0", "abc");
  expect_ok(request.infer());
  expect_invalid(request.infer(), "TRITONSERVER_ServerInferAsync: the request is in flight");
  expect_invalid(TRITONSERVER_InferenceRequestDelete(handle));
  expect_invalid(TRITONSERVER_InferenceRequestSetId(handle, "x"));
  expect_invalid(TRITONSERVER_InferenceRequestRemoveAllInputs(handle));
  expect_invalid(TRITONSERVER_InferenceRequestAddRequestedOutput(handle, "x"));
  expect_invalid(TRITONSERVER_InferenceRequestSetIntParameter(handle, "x", 1));
  const char* id = nullptr;
  expect_ok(TRITONSERVER_InferenceRequestId(handle, &id));
  atl::test::answer_identity(*held);
  EXPECT_TRUE(held->release().ok());
  EXPECT_EQ(request.responses()[0].outputs.at(0).bytes, "abc");
}

// A program may use its request again when it has the answer; the release callback comes when it comes.
TEST_F(InferAsync, AfterTheFinalResponseItIsTheProgramsAgain) {
  std::vector<Request*> held;
  model.respond = [&](Request& request) { held.push_back(&request); };
  ProgramRequest request(server, allocator);
  TRITONSERVER_InferenceRequest* handle = request.handle();
  request.add_input("INPUT0", "abc");
  expect_ok(request.infer());
  atl::test::answer_identity(*held[0]);
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.releases(), 0);
  expect_ok(TRITONSERVER_InferenceRequestSetId(handle, "second"));
  expect_ok(TRITONSERVER_InferenceRequestRemoveAllInputs(handle));
  request.add_input("INPUT0", "xyz");
  expect_ok(request.infer());
  EXPECT_TRUE(held[0]->release().ok());
  EXPECT_EQ(request.releases(), 1);
  expect_invalid(TRITONSERVER_InferenceRequestSetId(handle, "x"),
                 "TRITONSERVER_InferenceRequestSetId: the request is in flight");
  atl::test::answer_identity(*held[1]);
  EXPECT_EQ(request.responses()[1].outputs.at(0).bytes, "xyz");

  request.forget();
  expect_ok(TRITONSERVER_InferenceRequestDelete(handle));
  ProgramRequest another(server, allocator);
  EXPECT_NE(another.handle(), handle) << "not before the release callback, which may delete its request";
  request.on_release = [](TRITONSERVER_InferenceRequest* released) {
    expect_invalid(TRITONSERVER_InferenceRequestDelete(released));
  };
  EXPECT_TRUE(held[1]->release().ok());
  EXPECT_EQ(request.releases(), 2);
  ProgramRequest next(server, allocator);
  EXPECT_EQ(next.handle(), handle);
  EXPECT_EQ(model.references(), 2) << "of the two that are not sent";
}

TEST_F(InferAsync, CancellationIsOfTheLatestTime) {
  Request* held = nullptr;
  model.respond = [&](Request& request) { held = &request; };
  ProgramRequest request(server, allocator);
  bool flag = true;
  expect_error(TRITONSERVER_InferenceRequestCancel(request.handle()), TRITONSERVER_ERROR_INTERNAL,
               "the request was not sent yet");
  expect_error(TRITONSERVER_InferenceRequestIsCancelled(request.handle(), &flag),
               TRITONSERVER_ERROR_INTERNAL);
  expect_ok(request.infer());
  expect_ok(TRITONSERVER_InferenceRequestIsCancelled(request.handle(), &flag));
  EXPECT_FALSE(flag);
  expect_ok(TRITONSERVER_InferenceRequestCancel(request.handle()));
  EXPECT_TRUE(held->cancelled());
  expect_ok(TRITONSERVER_InferenceRequestIsCancelled(request.handle(), &flag));
  EXPECT_TRUE(flag);
  fail_request(*held, Status(Code::kCancelled, "cancelled"));
  EXPECT_EQ(request.responses()[0].code, Code::kCancelled);
  expect_ok(TRITONSERVER_InferenceRequestCancel(request.handle()));
  expect_ok(request.infer());
  EXPECT_FALSE(held->cancelled()) << "each time anew";
  fail_request(*held, Status(Code::kCancelled, "cancelled"));
}

TEST_F(InferAsync, ABackendAsksWhereOutputsAreGoingToBe) {
  const auto query = [](TRITONSERVER_ResponseAllocator*, void*, const char* name, size_t* size,
                        TRITONSERVER_MemoryType* type, int64_t* id) -> TRITONSERVER_Error* {
    if (name == nullptr) return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "of which?");
    EXPECT_EQ(*type, TRITONSERVER_MEMORY_GPU);
    *type = TRITONSERVER_MEMORY_CPU_PINNED;
    *id = static_cast<int64_t>(*size);
    return nullptr;
  };
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  Code unnamed = Code::kOk;
  model.respond = [&](Request& request) {
    const OpenRequest open = open_request(request);
    size_t size = 7;
    type = TRITONSERVER_MEMORY_GPU;
    TRITONSERVER_Error* error =
        TRITONBACKEND_RequestOutputBufferProperties(open.handle, "OUTPUT0", &size, &type, &device);
    Status answer = take_error(error);
    unnamed =
        take_error(TRITONBACKEND_RequestOutputBufferProperties(open.handle, nullptr, &size, &type, &device))
            .code();
    EXPECT_TRUE(end_request(open, answer.ok() ? internal_error("enough") : std::move(answer), nullptr));
  };
  ProgramRequest request(server, allocator);
  expect_ok(request.infer());
  EXPECT_EQ(request.responses()[0].code, Code::kUnavailable) << "nothing is known";
  expect_ok(TRITONSERVER_ResponseAllocatorSetQueryFunction(allocator.handle(), query));
  expect_ok(request.infer());
  EXPECT_EQ(request.responses()[1].code, Code::kInternal);
  EXPECT_EQ(type, TRITONSERVER_MEMORY_CPU_PINNED);
  EXPECT_EQ(device, 7);
  EXPECT_EQ(unnamed, Code::kUnimplemented);
}

TEST_F(InferAsync, AnAllocatorAddsAttributes) {
  const auto add = [](TRITONSERVER_ResponseAllocator*, const char* name,
                      TRITONSERVER_BufferAttributes* attributes, void* userp,
                      void* buffer_userp) -> TRITONSERVER_Error* {
    EXPECT_STREQ(name, "OUTPUT0");
    EXPECT_EQ(userp, buffer_userp);
    size_t size = 0;
    expect_ok(TRITONSERVER_BufferAttributesByteSize(attributes, &size));
    return size == 3 ? nullptr : TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "no handle");
  };
  expect_ok(TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(allocator.handle(), add));
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  expect_ok(request.infer());
  EXPECT_EQ(request.responses()[0].code, Code::kOk);
  expect_ok(TRITONSERVER_InferenceRequestAppendInputData(request.handle(), "INPUT0", "d", 1,
                                                         TRITONSERVER_MEMORY_CPU, 0));
  expect_ok(request.infer());
  EXPECT_EQ(request.responses()[1].message, "no handle");
  EXPECT_EQ(allocator.allocations, 2);
  EXPECT_EQ(allocator.releases, 2);
}

// With the callbacks and the deletion of the response inside ServerInferAsync.
TEST_F(InferAsync, TheReleaseCallbackMaySendTheRequestAgain) {
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  int left = 5;
  request.on_release = [&](TRITONSERVER_InferenceRequest*) {
    if (--left > 0) expect_ok(request.infer());
  };
  expect_ok(request.infer());
  EXPECT_EQ(request.responses().size(), 5u);
  EXPECT_EQ(request.releases(), 5);
}

// --- conformance of the sink ---

class ProgramSink final : public atl::test::SinkUnderTest {
 public:
  explicit ProgramSink(std::span<char> place) {
    allocator_.place = place;
    model_.respond = [this](Request& request) { request_ = &request; };
    expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(sent_.handle(), "OUTPUT0"));
    if (!place.empty()) expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(sent_.handle(), "PLACED"));
    expect_ok(sent_.infer());
  }
  Request& request() override { return *request_; }
  int ends(int) override {
    const auto all = sent_.responses();
    return sent_.releases() == 1 && !all.empty() && all.back().final() ? 1 : 0;
  }
  std::optional<std::vector<atl::test::ReceivedResponse>> received() override { return sent_.responses(); }
  std::vector<std::string> problems() override {
    if (allocator_.releases == allocator_.allocations) return {};
    return {"memory was not given back"};
  }

 private:
  FakeServer server_;
  atl::test::FakeServedModel& model_ = server_.catalog.add_identity("m", DataType::kUint8);
  ProgramAllocator allocator_;
  ProgramRequest sent_{server_, allocator_};
  Request* request_ = nullptr;
};

}  // namespace
}  // namespace atl::triton::test

namespace atl::test {
namespace {

std::shared_ptr<SinkUnderTest> make_program_sink(std::span<char> place) {
  return std::make_shared<triton::test::ProgramSink>(place);
}
INSTANTIATE_TEST_SUITE_P(InProcess, ResponseSinkConformance,
                         ::testing::Values(ResponseSinkProvider{"in_process", make_program_sink, 100, {}}));

}  // namespace
}  // namespace atl::test
