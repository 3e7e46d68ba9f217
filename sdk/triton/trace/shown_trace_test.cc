/// The trace of a request as a backend is shown it.
#include <gtest/gtest.h>

#include "atoll/triton/request.h"
#include "testing/program.h"

namespace atl::triton::test {
namespace {

/// Notes what it is told; children write to the same notes.
class NotedTrace final : public Trace {
 public:
  explicit NotedTrace(std::vector<std::string>& notes, uint64_t id = 5) : notes_(notes), id_(id) {}
  virtual ~NotedTrace() = default;
  uint64_t id() const noexcept override { return id_; }
  void report(TraceActivity activity, int64_t) noexcept override {
    notes_.push_back(cat(id_, " activity ", static_cast<uint32_t>(activity)));
  }
  void report_tensor(TraceActivity, std::string_view, DataType, std::span<const int64_t>,
                     std::span<const Buffer>) noexcept override {}
  void report_named(const char* name, int64_t time) noexcept override {
    notes_.push_back(cat(id_, " ", name, " at ", time));
    names.emplace_back(name);
  }
  std::string_view traceparent() const noexcept override { return "00-ab"; }
  Trace* spawn_child(std::string_view model, int64_t version, std::string_view request) noexcept override {
    notes_.push_back(cat(id_, " child for ", model, " ", version, " ", request));
    return new NotedTrace(notes_, id_ + 1);
  }
  void release() noexcept override {
    notes_.push_back(cat(id_, " released"));
    delete this;
  }
  bool wants_tensors() const noexcept override { return false; }
  std::vector<std::string> names;

 private:
  std::vector<std::string>& notes_;
  uint64_t id_;
};

class ShownTrace : public InProcess {
 protected:
  ShownTrace() {
    made->model = &model;
    made->trace = trace;
    made.on_release([this](Request&) { trace->release(); });
  }
  ~ShownTrace() override {
    if (made.accepted()) return;
    trace->release();
  }
  TRITONSERVER_InferenceTrace* show() {
    TRITONSERVER_InferenceTrace* shown = nullptr;
    made.mark_accepted();
    open = open_request(*made);
    expect_ok(TRITONBACKEND_RequestTrace(open.handle, &shown));
    return shown;
  }
  void end() { EXPECT_TRUE(end_request(open, internal_error("enough"), nullptr)); }

  std::vector<std::string> notes;
  NotedTrace* trace = new NotedTrace(notes);
  atl::test::TestRequest made{"r1"};
  OpenRequest open;
};

TEST_F(ShownTrace, TellsWhatItIsOf) {
  TRITONSERVER_InferenceTrace* shown = show();
  ASSERT_NE(shown, nullptr);
  uint64_t number = 0;
  const char* text = nullptr;
  int64_t version = 0;
  expect_ok(TRITONSERVER_InferenceTraceId(shown, &number));
  EXPECT_EQ(number, 5u);
  expect_ok(TRITONSERVER_InferenceTraceParentId(shown, &number));
  EXPECT_EQ(number, 0u);
  expect_ok(TRITONSERVER_InferenceTraceModelName(shown, &text));
  EXPECT_STREQ(text, "m");
  expect_ok(TRITONSERVER_InferenceTraceModelVersion(shown, &version));
  EXPECT_EQ(version, 1);
  expect_ok(TRITONSERVER_InferenceTraceRequestId(shown, &text));
  EXPECT_STREQ(text, "r1");
  expect_ok(TRITONSERVER_InferenceTraceContext(shown, &text));
  EXPECT_STREQ(text, R"({"traceparent":"00-ab"})");
  end();
}

TEST_F(ShownTrace, NamesOfActivitiesAreKept) {
  TRITONSERVER_InferenceTrace* shown = show();
  for (int i = 0; i < 2; ++i) {
    std::string name = "MY_START";
    expect_ok(TRITONSERVER_InferenceTraceReportActivity(shown, 7, name.c_str()));
    name = "--------";
  }
  EXPECT_EQ(notes, (std::vector<std::string>{"5 MY_START at 7", "5 MY_START at 7"}));
  ASSERT_EQ(trace->names.size(), 2u);
  EXPECT_EQ(trace->names[0], "MY_START");
  EXPECT_EQ(trace->names[0], trace->names[1]);
  end();
}

TEST_F(ShownTrace, IsTheServers) {
  TRITONSERVER_InferenceTrace* shown = show();
  expect_invalid(TRITONSERVER_InferenceTraceDelete(shown));
  expect_error(TRITONSERVER_InferenceTraceSetContext(shown, "{}"), TRITONSERVER_ERROR_UNSUPPORTED);
  ProgramRequest request(server, allocator);
  expect_invalid(request.infer(shown), "TRITONSERVER_ServerInferAsync: the trace is the server's already");
  end();
}

TEST_F(ShownTrace, AChildGoesWithANestedRequest) {
  TRITONSERVER_InferenceTrace* shown = show();
  TRITONSERVER_InferenceTrace* child = nullptr;
  expect_ok(TRITONSERVER_InferenceTraceSpawnChildTrace(shown, &child));
  uint64_t parent = 0;
  expect_ok(TRITONSERVER_InferenceTraceParentId(child, &parent));
  EXPECT_EQ(parent, 5u);
  ProgramRequest request(server, allocator);
  request.add_input("INPUT0", "a");
  expect_ok(TRITONSERVER_InferenceRequestSetId(request.handle(), "nested"));
  expect_ok(request.infer(child));
  EXPECT_EQ(notes, (std::vector<std::string>{"5 child for m 1 nested", "6 activity 6", "6 released"}));

  notes.clear();
  model.refuse = [](Request&) { return internal_error("no"); };
  expect_ok(TRITONSERVER_InferenceTraceSpawnChildTrace(shown, &child));
  expect_error(request.infer(child), TRITONSERVER_ERROR_INTERNAL);
  EXPECT_EQ(notes, (std::vector<std::string>{"5 child for m 1 nested", "6 released"}));

  notes.clear();
  expect_ok(TRITONSERVER_InferenceTraceSpawnChildTrace(shown, &child));
  expect_ok(TRITONSERVER_InferenceTraceDelete(child));
  expect_ok(TRITONSERVER_InferenceTraceSpawnChildTrace(shown, &child));
  expect_invalid(TRITONSERVER_ServerInferAsync(&server, nullptr, child));
  EXPECT_TRUE(notes.empty()) << "nothing was sent with them";
  end();
}

TEST_F(ShownTrace, IsTheProgramsOwnWhereItMadeTheRequest) {
  TRITONSERVER_InferenceTrace* given = nullptr;
  const auto activity = [](TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity, uint64_t,
                           void*) {};
  const auto release = [](TRITONSERVER_InferenceTrace* one, void*) {
    expect_ok(TRITONSERVER_InferenceTraceDelete(one));
  };
  expect_ok(TRITONSERVER_InferenceTraceNew(&given, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0, activity, release,
                                           nullptr));
  TRITONSERVER_InferenceTrace* shown = nullptr;
  model.respond = [&](Request& request) {
    const OpenRequest opened = open_request(request);
    expect_ok(TRITONBACKEND_RequestTrace(opened.handle, &shown));
    EXPECT_TRUE(end_request(opened, internal_error("enough"), nullptr));
  };
  ProgramRequest request(server, allocator);
  expect_ok(request.infer(given));
  EXPECT_EQ(shown, given);
  expect_ok(request.infer());
  EXPECT_EQ(shown, nullptr);
}

}  // namespace
}  // namespace atl::triton::test
