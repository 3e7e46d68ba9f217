#include "atoll/request/inner_request.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/recording_sink.h"

namespace atl {
namespace {

using test::TestRequest;

/// Notes what comes; used again and again, as from a pool.
class Noting final : public InnerRequest {
 public:
  virtual ~Noting() = default;
  int ends = 0;
  std::vector<std::string> answers;
  uint64_t reserved_bytes = 0, limit_bytes = UINT64_MAX;

 private:
  Status reserve(const OutputTensor& output, uint64_t size_bytes) noexcept override {
    if (size_bytes > limit_bytes) return make_status(Code::kResourceExhausted, output.name, " is too large");
    reserved_bytes += size_bytes;
    return {};
  }
  void unreserve(uint64_t size_bytes) noexcept override { reserved_bytes -= size_bytes; }
  void on_response(Response* response, uint32_t flags) noexcept override {
    std::string answer = response == nullptr ? "-" : response->error.ok() ? "ok" : response->error.text();
    answers.push_back(answer + ((flags & kFinal) != 0 ? "." : ""));
  }
  void on_end() noexcept override { ++ends; }
};

/// Notes of whom it is.
class FakeTrace final : public Trace {
 public:
  explicit FakeTrace(FakeTrace* child = nullptr) : child_(child) {}
  virtual ~FakeTrace() = default;
  uint64_t id() const noexcept override { return 1; }
  void report(TraceActivity activity, int64_t) noexcept override { activities.push_back(activity); }
  void report_tensor(TraceActivity, std::string_view, DataType, std::span<const int64_t>,
                     std::span<const Buffer>) noexcept override {}
  void report_named(const char*, int64_t) noexcept override {}
  std::string_view traceparent() const noexcept override { return {}; }
  Trace* spawn_child(std::string_view model, int64_t version, std::string_view id) noexcept override {
    spawned = cat(model, " ", version, " ", id);
    return child_;
  }
  void release() noexcept override { ++releases; }
  bool wants_tensors() const noexcept override { return false; }

  std::vector<TraceActivity> activities;
  std::string spawned;
  int releases = 0;

 private:
  FakeTrace* child_;
};

class InnerRequestTest : public ::testing::Test {
 protected:
  InnerRequestTest() : model_(catalog_.add_identity("m")) {
    model_.respond = [this](Request& request) { held_ = &request; };
  }
  ~InnerRequestTest() override {
    EXPECT_EQ(model_.references(), 0);
    EXPECT_EQ(inner_.reserved_bytes, 0u);
  }
  void infer() { inner_.infer(catalog_.acquire("m", 1).value()); }
  static void answer(Request& request, uint32_t flags = kFinal) { request.sink->new_response()->send(flags); }

  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_;
  Request* held_ = nullptr;
  Noting inner_;
};

TEST_F(InnerRequestTest, EndsWhenAnsweredAndReleasedInEitherOrder) {
  for (bool released_first : {false, true}) {
    infer();
    ASSERT_EQ(held_, &inner_.request);
    ResponseSink* sink = held_->sink;
    if (released_first) {
      EXPECT_TRUE(held_->release().ok());
    } else {
      answer(*held_);
    }
    EXPECT_EQ(inner_.ends, released_first ? 1 : 0);
    EXPECT_EQ(model_.references(), 1);
    if (released_first) {
      sink->send(nullptr, kFinal);
    } else {
      EXPECT_TRUE(held_->release().ok());
    }
    EXPECT_EQ(inner_.ends, released_first ? 2 : 1);
    EXPECT_EQ(model_.references(), 0);
  }
  EXPECT_EQ(inner_.answers, (std::vector<std::string>{"ok.", "-."}));
  EXPECT_EQ(model_.first_responses(), 1u);
}

TEST_F(InnerRequestTest, AnAnswerAheadIsTheFirstResponseWhenItsBytesHaveCome) {
  for (uint32_t use = 1; use <= 2; ++use) {
    infer();
    answer(*held_, kFinal | kAhead);
    EXPECT_EQ(model_.first_responses(), use - 1);
    EXPECT_TRUE(held_->release().ok());
    EXPECT_EQ(model_.first_responses(), use);
  }
  infer();
  answer(*held_, 0);
  EXPECT_EQ(model_.first_responses(), 3u);
  answer(*held_, kFinal);
  EXPECT_TRUE(held_->release().ok());
  EXPECT_EQ(model_.first_responses(), 3u);
}

TEST_F(InnerRequestTest, IsNotOverBeforeTheModelsCallReturns) {
  int ends_inside = -1;
  model_.respond = [&](Request& request) {
    answer(request);
    EXPECT_TRUE(request.release().ok());
    ends_inside = inner_.ends;
  };
  infer();
  EXPECT_EQ(ends_inside, 0);
  EXPECT_EQ(inner_.ends, 1);
}

TEST_F(InnerRequestTest, ARefusalIsTheAnswer) {
  model_.refuse = [](Request&) { return invalid_argument("no"); };
  infer();
  EXPECT_EQ(inner_.ends, 1);
  inner_.refuse(not_found("no such model"));
  EXPECT_EQ(inner_.ends, 2);
  EXPECT_EQ(inner_.answers, (std::vector<std::string>{"no.", "no such model."}));
}

TEST_F(InnerRequestTest, IsAsNewForTheNextUse) {
  for (int i = 0; i < 3; ++i) {
    inner_.request.id = inner_.request.arena().copy_text("x");
    inner_.request.add_output().name = "OUTPUT0";
    infer();
    answer(*held_, 0);
    answer(*held_, kFinal);
    EXPECT_TRUE(held_->release().ok());
    EXPECT_EQ(inner_.ends, i + 1);
    EXPECT_TRUE(inner_.request.id.empty());
    EXPECT_TRUE(inner_.request.outputs.empty());
  }
  EXPECT_EQ(model_.first_responses(), 3u);
}

TEST_F(InnerRequestTest, MemoryForOutputsIsReservedAndGivenBack) {
  inner_.limit_bytes = 1000;
  inner_.begin();
  Request& request = inner_.request;
  Response* response = request.sink->new_response();
  const int64_t shape[] = {1000};
  OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
  EXPECT_EQ(response->allocate(output, 1001).message(), "OUTPUT0 is too large");
  ASSERT_TRUE(response->allocate(output, 1000).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(output.buffer.data) % 64, 0u);
  EXPECT_EQ(inner_.reserved_bytes, 1000u);
  output.buffer.size_bytes = 10;  // as a backend that needs less
  response->send();
  EXPECT_EQ(inner_.reserved_bytes, 0u);
  EXPECT_TRUE(request.release().ok());
  inner_.limit_bytes = UINT64_MAX;
  inner_.begin();
  response = request.sink->new_response();
  OutputTensor& huge = response->add_output("OUTPUT0", DataType::kUint8, shape);
  EXPECT_EQ(response->allocate(huge, UINT64_MAX).code(), Code::kResourceExhausted);
  response->send();
  EXPECT_TRUE(request.release().ok());
}

TEST_F(InnerRequestTest, AStepHasWhatItsParentHas) {
  TestRequest made;
  Request& parent = made.request();
  FakeTrace child_trace, parent_trace(&child_trace);
  parent.times.deadline_ns = 77;
  parent.priority = 3;
  parent.tenant = "tenant";
  parent.caller = "caller";
  parent.call_flags = kHoldsResources;
  parent.trace = &parent_trace;
  inner_.of(parent);
  inner_.request.id = "step";
  infer();
  EXPECT_EQ(held_->times.deadline_ns, 77);
  EXPECT_EQ(held_->priority, 3u);
  EXPECT_EQ(held_->tenant, "tenant");
  EXPECT_EQ(held_->caller, "caller");
  EXPECT_EQ(held_->call_flags, static_cast<uint32_t>(kIsStep | kCallerHoldsResources));
  EXPECT_EQ(held_->trace, &child_trace);
  EXPECT_EQ(parent_trace.spawned, "m 1 step");
  EXPECT_FALSE(held_->cancelled());
  parent.cancellation.cancel();
  EXPECT_TRUE(held_->cancelled());
  fail_request(*held_, Status(Code::kCancelled, "cancelled"));
  EXPECT_EQ(inner_.ends, 1);
  EXPECT_EQ(child_trace.activities, std::vector<TraceActivity>{TraceActivity::kRequestEnd});
  EXPECT_EQ(child_trace.releases, 1);
  EXPECT_EQ(parent_trace.releases, 0);
  parent.trace = nullptr;
  // And nothing of it in its next use.
  infer();
  EXPECT_FALSE(held_->cancelled());
  EXPECT_EQ(held_->call_flags, 0u);
  answer(*held_);
  EXPECT_TRUE(held_->release().ok());
}

TEST_F(InnerRequestTest, AStepOfACancelledRequestIsCancelled) {
  TestRequest parent;
  parent.cancel();
  inner_.of(parent.request());
  infer();
  EXPECT_TRUE(held_->cancelled());
  fail_request(*held_, Status(Code::kCancelled, "cancelled"));
  inner_.of(parent.request());
  inner_.refuse(unavailable("no"));
  EXPECT_EQ(inner_.ends, 2);
}

TEST_F(InnerRequestTest, TheParentMayBeCancelledWhileStepsEnd) {
  for (int round = 0; round < 300; ++round) {
    TestRequest parent;
    inner_.of(parent.request());
    infer();
    std::thread cancelling([&] { parent.cancel(); });
    answer(*held_);
    EXPECT_TRUE(held_->release().ok());
    ASSERT_EQ(inner_.ends, round + 1);
    cancelling.join();
  }
}

}  // namespace
}  // namespace atl
