#include <gtest/gtest.h>

#include <set>

#include "testing/program.h"

namespace atl::triton::test {
namespace {

/// What a program is told of its traces, which it deletes when they are released.
struct Told {
  std::vector<std::string> all;
  std::vector<uint64_t> times;
  int released = 0;
  std::function<void(TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity, uint64_t)> also;

  static void activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                       uint64_t time, void* userp) {
    auto* self = static_cast<Told*>(userp);
    uint64_t id = 0;
    expect_ok(TRITONSERVER_InferenceTraceId(trace, &id));
    self->all.push_back(TRITONSERVER_InferenceTraceActivityString(activity));
    self->times.push_back(time);
    if (self->also) self->also(trace, activity, time);
  }
  static void tensor(TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity activity,
                     const char* name, TRITONSERVER_DataType type, const void* base, size_t size,
                     const int64_t* shape, uint64_t rank, TRITONSERVER_MemoryType memory, int64_t,
                     void* userp) {
    EXPECT_EQ(memory, TRITONSERVER_MEMORY_CPU);
    static_cast<Told*>(userp)->all.push_back(cat(TRITONSERVER_InferenceTraceActivityString(activity), " ",
                                                 name, " ", TRITONSERVER_DataTypeString(type),
                                                 shape_text({shape, rank}), " ",
                                                 std::string_view(static_cast<const char*>(base), size)));
  }
  static void release(TRITONSERVER_InferenceTrace* trace, void* userp) {
    ++static_cast<Told*>(userp)->released;
    expect_ok(TRITONSERVER_InferenceTraceDelete(trace));
  }
};

class InferenceTrace : public InProcess {
 protected:
  TRITONSERVER_InferenceTrace* make(int level = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, uint64_t parent = 0) {
    TRITONSERVER_InferenceTrace* made = nullptr;
    expect_ok(
        TRITONSERVER_InferenceTraceTensorNew(&made, static_cast<TRITONSERVER_InferenceTraceLevel>(level),
                                             parent, Told::activity, Told::tensor, Told::release, &told));
    return made;
  }
  Told told;
};

std::string context_of(TRITONSERVER_InferenceTrace* trace) {
  const char* text = nullptr;
  expect_ok(TRITONSERVER_InferenceTraceContext(trace, &text));
  return text;
}

TEST_F(InferenceTrace, OfARequestIsToldAndReleasedBeforeTheRequest) {
  model.respond = [](Request& request) {
    request.trace->report(TraceActivity::kRequestStart, 100);
    request.trace->report(TraceActivity::kComputeStart, 0);
    atl::test::answer_identity(request);
    EXPECT_TRUE(request.release().ok());
  };
  TRITONSERVER_InferenceTrace* trace = make();
  uint64_t id = 0;
  uint64_t parent = 9;
  expect_ok(TRITONSERVER_InferenceTraceId(trace, &id));
  expect_ok(TRITONSERVER_InferenceTraceParentId(trace, &parent));
  EXPECT_NE(id, 0u);
  EXPECT_EQ(parent, 0u);
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  expect_ok(TRITONSERVER_InferenceRequestSetId(request.handle(), "r1"));
  told.also = [&](TRITONSERVER_InferenceTrace* of, TRITONSERVER_InferenceTraceActivity, uint64_t) {
    EXPECT_EQ(of, trace);
    const char* text = nullptr;
    int64_t version = 0;
    expect_ok(TRITONSERVER_InferenceTraceModelName(of, &text));
    EXPECT_STREQ(text, "m");
    expect_ok(TRITONSERVER_InferenceTraceModelVersion(of, &version));
    EXPECT_EQ(version, 1);
    expect_ok(TRITONSERVER_InferenceTraceRequestId(of, &text));
    EXPECT_STREQ(text, "r1");
    expect_invalid(TRITONSERVER_InferenceTraceDelete(of));
    expect_invalid(request.infer(of), "TRITONSERVER_ServerInferAsync: the trace is the server's already");
  };
  request.on_release = [&](TRITONSERVER_InferenceRequest*) { EXPECT_EQ(told.released, 1); };
  expect_ok(request.infer(trace));
  EXPECT_EQ(told.all, (std::vector<std::string>{"REQUEST_START", "COMPUTE_START", "REQUEST_END"}))
      << "and nothing of tensors";
  EXPECT_EQ(told.times[0], 100u);
  EXPECT_GT(told.times[1], 100u) << "now";
  EXPECT_GE(told.times[2], told.times[1]);
  EXPECT_EQ(told.released, 1);
}

TEST_F(InferenceTrace, TellsTensors) {
  model.respond = [](Request& request) {
    const InputTensor& input = request.inputs[0];
    request.trace->report_tensor(TraceActivity::kTensorQueueInput, input.name, input.datatype, input.shape,
                                 input.buffers);
    atl::test::answer_identity(request);
    EXPECT_TRUE(request.release().ok());
  };
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "abc");
  expect_ok(TRITONSERVER_InferenceRequestAppendInputData(request.handle(), "INPUT0", "de", 2,
                                                         TRITONSERVER_MEMORY_CPU, 0));
  expect_ok(request.infer(make(TRITONSERVER_TRACE_LEVEL_TENSORS)));
  EXPECT_EQ(told.all, (std::vector<std::string>{"TENSOR_QUEUE_INPUT INPUT0 UINT8[3] abcde",
                                                "TENSOR_BACKEND_OUTPUT OUTPUT0 UINT8[3] abcde"}));
  EXPECT_EQ(told.released, 1);
}

TEST_F(InferenceTrace, IsTakenAlsoByAFailure) {
  model.refuse = [](Request&) { return invalid_argument("not so"); };
  ProgramRequest request(server, allocator);
  expect_invalid(request.infer(make()), "not so");
  EXPECT_EQ(told.released, 1);
  expect_invalid(TRITONSERVER_ServerInferAsync(nullptr, request.handle(), make()));
  EXPECT_EQ(told.released, 2);
  TRITONSERVER_InferenceRequest* incomplete = nullptr;
  expect_ok(TRITONSERVER_InferenceRequestNew(&incomplete, &server, "m", -1));
  expect_invalid(TRITONSERVER_ServerInferAsync(&server, incomplete, make()));
  EXPECT_EQ(told.released, 3);
  expect_ok(TRITONSERVER_InferenceRequestDelete(incomplete));
}

TEST_F(InferenceTrace, LivesUntilTheLastResponse) {
  ResponseSink* sink = nullptr;
  model.respond = [&](Request& request) {
    sink = request.sink;
    EXPECT_TRUE(request.release().ok());
  };
  ProgramRequest request(server, allocator);
  expect_ok(request.infer(make()));
  EXPECT_EQ(told.released, 0);
  sink->send(nullptr, kFinal);
  EXPECT_EQ(told.released, 1);
}

TEST_F(InferenceTrace, ChildrenAreToldToTheSame) {
  std::set<uint64_t> ids;
  uint64_t parent = 0;
  told.also = [&](TRITONSERVER_InferenceTrace* of, TRITONSERVER_InferenceTraceActivity, uint64_t) {
    uint64_t id = 0;
    expect_ok(TRITONSERVER_InferenceTraceId(of, &id));
    ids.insert(id);
    if (ids.size() == 2) expect_ok(TRITONSERVER_InferenceTraceParentId(of, &parent));
  };
  model.respond = [&](Request& request) {
    Trace* step = request.trace->spawn_child("step", 2, "r");
    step->report(TraceActivity::kRequestStart, 1);
    step->release();
    atl::test::answer_identity(request);
    EXPECT_TRUE(request.release().ok());
  };
  TRITONSERVER_InferenceTrace* trace = make();
  uint64_t id = 0;
  expect_ok(TRITONSERVER_InferenceTraceId(trace, &id));
  expect_ok(TRITONSERVER_InferenceTraceSetContext(trace, R"({"traceparent":"00-1"})"));
  TRITONSERVER_InferenceTrace* child = nullptr;
  expect_ok(TRITONSERVER_InferenceTraceSpawnChildTrace(trace, &child));
  uint64_t child_parent = 0;
  expect_ok(TRITONSERVER_InferenceTraceParentId(child, &child_parent));
  EXPECT_EQ(child_parent, id);
  EXPECT_EQ(context_of(child), R"({"traceparent":"00-1"})");
  expect_ok(TRITONSERVER_InferenceTraceDelete(child));
  ProgramRequest request(server, allocator);
  expect_ok(request.infer(trace));
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(told.released, 2);
}

TEST_F(InferenceTrace, ACustomActivityHasItsNameInTheContext) {
  TRITONSERVER_InferenceTrace* trace = make();
  EXPECT_EQ(context_of(trace), "");
  std::string context;
  told.also = [&](TRITONSERVER_InferenceTrace* of, TRITONSERVER_InferenceTraceActivity, uint64_t) {
    context = context_of(of);
  };
  expect_ok(TRITONSERVER_InferenceTraceReportActivity(trace, 7, "MY_START"));
  EXPECT_EQ(told.all, std::vector<std::string>{"CUSTOM_ACTIVITY"});
  EXPECT_EQ(told.times, std::vector<uint64_t>{7});
  EXPECT_EQ(context, R"({"7":"MY_START"})");
  expect_ok(TRITONSERVER_InferenceTraceReportActivity(trace, 8, "a \"b\"\n"));
  EXPECT_EQ(context, R"({"7":"MY_START","8":"a \"b\"\u000a"})");
  expect_ok(TRITONSERVER_InferenceTraceSetContext(trace, "{ \"a\" : 1 }\n"));
  expect_ok(TRITONSERVER_InferenceTraceReportActivity(trace, 9, "E"));
  EXPECT_EQ(context, "{ \"a\" : 1 ,\"9\":\"E\"}\n");
  for (const char* text : {"no object", "{", "   ", "}"}) {
    expect_ok(TRITONSERVER_InferenceTraceSetContext(trace, text));
    expect_ok(TRITONSERVER_InferenceTraceReportActivity(trace, 9, "E"));
    EXPECT_EQ(context, text);
  }
  expect_ok(TRITONSERVER_InferenceTraceReportActivity(nullptr, 9, "E"));
  expect_invalid(TRITONSERVER_InferenceTraceReportActivity(trace, 9, nullptr));
  expect_ok(TRITONSERVER_InferenceTraceDelete(trace));
}

TEST_F(InferenceTrace, TheContextGoesAlongAsTraceparent) {
  std::string parent;
  model.respond = [&](Request& request) {
    parent = request.trace->traceparent();
    atl::test::answer_identity(request);
    EXPECT_TRUE(request.release().ok());
  };
  ProgramRequest request(server, allocator);
  for (const auto& [context, expected] :
       {std::pair{R"({"traceparent" : "00-ab-cd-01"})", "00-ab-cd-01"}, std::pair{R"({"traceparent":7})", ""},
        std::pair{R"({"traceparent")", ""}, std::pair{R"({"traceparent":"x)", ""}, std::pair{"{}", ""}}) {
    TRITONSERVER_InferenceTrace* trace = make();
    expect_ok(TRITONSERVER_InferenceTraceSetContext(trace, context));
    expect_ok(request.infer(trace));
    EXPECT_EQ(parent, expected) << context;
  }
}

TEST_F(InferenceTrace, LevelsSayWhatIsTold) {
  const auto told_at = [&](int level) {
    told.all.clear();
    ProgramRequest request(server, allocator);
    request.add_input("INPUT0", "a");
    expect_ok(request.infer(make(level)));
    return told.all.size();
  };
  EXPECT_EQ(told_at(TRITONSERVER_TRACE_LEVEL_DISABLED), 0u);
  EXPECT_EQ(told_at(TRITONSERVER_TRACE_LEVEL_MIN), 1u) << "the end";
  EXPECT_EQ(told_at(TRITONSERVER_TRACE_LEVEL_MAX), 1u);
  EXPECT_EQ(told_at(TRITONSERVER_TRACE_LEVEL_TENSORS), 1u);
  EXPECT_EQ(told_at(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS | TRITONSERVER_TRACE_LEVEL_TENSORS), 2u);
}

TEST_F(InferenceTrace, MisuseIsAnError) {
  TRITONSERVER_InferenceTrace* made = nullptr;
  const auto level = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;
  const auto unknown = static_cast<TRITONSERVER_InferenceTraceLevel>(16);
  uint64_t number = 0;
  int64_t version = 0;
  const char* text = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONSERVER_InferenceTraceNew(nullptr, level, 0, Told::activity, Told::release, nullptr),
        TRITONSERVER_InferenceTraceNew(&made, level, 0, nullptr, Told::release, nullptr),
        TRITONSERVER_InferenceTraceNew(&made, level, 0, Told::activity, nullptr, nullptr),
        TRITONSERVER_InferenceTraceNew(&made, unknown, 0, Told::activity, Told::release, nullptr),
        TRITONSERVER_InferenceTraceTensorNew(&made, level, 0, Told::activity, nullptr, Told::release,
                                             nullptr),
        TRITONSERVER_InferenceTraceDelete(nullptr), TRITONSERVER_InferenceTraceId(nullptr, &number),
        TRITONSERVER_InferenceTraceParentId(nullptr, &number),
        TRITONSERVER_InferenceTraceModelName(nullptr, &text),
        TRITONSERVER_InferenceTraceModelVersion(nullptr, &version),
        TRITONSERVER_InferenceTraceRequestId(nullptr, &text),
        TRITONSERVER_InferenceTraceSpawnChildTrace(nullptr, &made),
        TRITONSERVER_InferenceTraceSetContext(nullptr, "x"),
        TRITONSERVER_InferenceTraceContext(nullptr, &text)}) {
    expect_invalid(error);
  }
  EXPECT_EQ(made, nullptr);
}

}  // namespace
}  // namespace atl::triton::test
