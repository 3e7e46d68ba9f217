/// The end of a request that foreign code executes, and what is done after it.
#include <atomic>
#include <thread>

#include "atoll/testing/fake_sequence_state.h"
#include "testing/executed_request.h"

namespace atl::triton {
namespace {

class CRequestEnd : public ExecutedRequest {};

TEST_F(CRequestEnd, AReleasedRequestIsGone) {
  TRITONBACKEND_Request* gone = handle();
  TRITONBACKEND_Input* input = nullptr;
  EXPECT_DONE(TRITONBACKEND_RequestInputByIndex(gone, 0, &input));
  const void* data = nullptr;
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  EXPECT_DONE(TRITONBACKEND_InputBufferAttributes(input, 0, &data, &attributes));
  EXPECT_TRUE(is_held(*opened));
  finish();
  EXPECT_FALSE(is_held(*opened));
  EXPECT_EQ(
      text_of(TRITONBACKEND_RequestRelease(gone, TRITONSERVER_REQUEST_RELEASE_ALL)),
      "TRITONBACKEND_RequestRelease: the request is no longer the caller's: it was given away or deleted");
  TRITONBACKEND_Response* response = nullptr;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  TRITONSERVER_InferenceTrace* trace = nullptr;
  const char* text = nullptr;
  uint32_t count = 0;
  uint64_t number = 0;
  bool flag = false;
  auto type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_RequestRelease(gone, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE),
        TRITONBACKEND_ResponseNew(&response, gone),
        TRITONBACKEND_ResponseFactoryNew(&factory, gone),
        TRITONBACKEND_RequestId(gone, &text),
        TRITONBACKEND_RequestCorrelationId(gone, &number),
        TRITONBACKEND_RequestCorrelationIdString(gone, &text),
        TRITONBACKEND_RequestFlags(gone, &count),
        TRITONBACKEND_RequestIsCancelled(gone, &flag),
        TRITONBACKEND_RequestParameterCount(gone, &count),
        TRITONBACKEND_InferenceRequestTimeoutMicroseconds(gone, &number),
        TRITONBACKEND_RequestInputCount(gone, &count),
        TRITONBACKEND_RequestInputName(gone, 0, &text),
        TRITONBACKEND_RequestOutputCount(gone, &count),
        TRITONBACKEND_RequestOutputName(gone, 0, &text),
        TRITONBACKEND_RequestOutputBufferProperties(gone, "A", nullptr, &type, &device),
        TRITONBACKEND_RequestTrace(gone, &trace),
        TRITONBACKEND_StateNew(nullptr, gone, "S", TRITONSERVER_TYPE_INT8, nullptr, 0),
        TRITONBACKEND_ModelInstanceReportStatistics(&instance, gone, true, 1, 2, 3, 4),
        TRITONBACKEND_InputProperties(input, &text, nullptr, nullptr, nullptr, nullptr, nullptr),
        TRITONBACKEND_InputBuffer(input, 0, &data, &number, &type, &device),
        TRITONBACKEND_InputBufferAttributes(input, 0, &data, &attributes)}) {
    EXPECT_REFUSED(error);
  }
}

/// Of a request that is traced.
class QuietTrace final : public Trace {
 public:
  virtual ~QuietTrace() = default;
  uint64_t id() const noexcept override { return 7; }
  void report(TraceActivity, int64_t) noexcept override {}
  void report_tensor(TraceActivity, std::string_view, DataType, std::span<const int64_t>,
                     std::span<const Buffer>) noexcept override {}
  void report_named(const char*, int64_t) noexcept override {}
  std::string_view traceparent() const noexcept override { return {}; }
  Trace* spawn_child(std::string_view, int64_t, std::string_view) noexcept override { return nullptr; }
  void release() noexcept override {}
  bool wants_tensors() const noexcept override { return false; }
};

TEST_F(CRequestEnd, ItsTraceIsTheRequests) {
  QuietTrace trace;
  request->trace = &trace;
  TRITONSERVER_InferenceTrace *shown = nullptr, *again = nullptr;
  EXPECT_DONE(TRITONBACKEND_RequestTrace(handle(), &shown));
  EXPECT_DONE(TRITONBACKEND_RequestTrace(handle(), &again));
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(shown, again);
  uint64_t id = 0;
  EXPECT_DONE(TRITONSERVER_InferenceTraceId(shown, &id));
  EXPECT_EQ(id, 7u);
  finish();
}

// Of the handle that was used last nothing is seen until a thousand others were.
TEST_F(CRequestEnd, AStaleHandleIsNoOtherRequests) {
  finish();
  for (int i = 0; i < 1000; ++i) {
    test::TestRequest other("other");
    other.mark_accepted();
    const OpenRequest open = open_request(*other);
    ASSERT_NE(open.handle, opened->handle);
    EXPECT_REFUSED(TRITONBACKEND_RequestRelease(opened->handle, TRITONSERVER_REQUEST_RELEASE_ALL));
    TRITONBACKEND_Response* response = nullptr;
    EXPECT_DONE(TRITONBACKEND_ResponseNew(&response, open.handle));
    EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
    EXPECT_DONE(TRITONBACKEND_RequestRelease(open.handle, TRITONSERVER_REQUEST_RELEASE_ALL));
    EXPECT_TRUE(other.done());
  }
}

TEST_F(CRequestEnd, ReleaseFlagsAreOneOfTwo) {
  for (uint32_t flags : {0u, 3u, 4u, 99u}) EXPECT_REFUSED(TRITONBACKEND_RequestRelease(handle(), flags));
  EXPECT_REFUSED(TRITONBACKEND_RequestRelease(nullptr, TRITONSERVER_REQUEST_RELEASE_ALL));
  finish();
}

TEST_F(CRequestEnd, AResponseMayComeAfterTheRelease) {
  TRITONBACKEND_Response* response = new_response();
  release();
  EXPECT_FALSE(request.got_final());
  write(add_output(response, "A"), "a");
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  EXPECT_EQ(request.response().find("A")->bytes, "a");
}

TEST_F(CRequestEnd, WhoReleasesWithoutAnAnswerAnswersWithAnError) {
  TRITONBACKEND_Response* response = new_response();
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  request.on_release([this](Request&) { EXPECT_TRUE(request.got_final()) << "as when it fails otherwise"; });
  release();
  EXPECT_EQ(request.response().code, Code::kInternal);
  EXPECT_EQ(request.response().message, "the backend released request 'r1' without a final response");
}

TEST_F(CRequestEnd, WhoDropsTheLastResponseAnswersWithAnError) {
  TRITONBACKEND_Response* response = new_response();
  EXPECT_DONE(TRITONBACKEND_ResponseSend(new_response(), 0, nullptr));
  release();
  EXPECT_FALSE(request.got_final());
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(response));
  ASSERT_EQ(request.responses().size(), 2u);
  EXPECT_EQ(request.responses()[1].code, Code::kInternal);
}

/// A scheduler that takes requests back, or not.
class Taker final : public Rescheduler {
 public:
  virtual ~Taker() = default;
  Status reschedule(Request& request) noexcept override {
    if (!refusal.empty()) return unavailable(refusal);
    taken = &request;
    return {};
  }
  Request* taken = nullptr;
  std::string refusal;
};

TEST_F(CRequestEnd, OnlyIterativeModelsReschedule) {
  EXPECT_EQ(
      text_of(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)),
      "Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to "
      "handle such a flag.");
  finish();
}

TEST_F(CRequestEnd, ARescheduledRequestIsExecutedAgain) {
  Taker taker;
  request->rescheduler = &taker;
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  EXPECT_DONE(TRITONBACKEND_ResponseSend(new_response(), 0, nullptr));
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), true, 1, 2, 3, 4));
  EXPECT_DONE(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
  EXPECT_EQ(taker.taken, &*request);
  EXPECT_FALSE(request.got_release());
  EXPECT_EQ(reporter.all().total(), 0u) << "it is reported with its last execution";
  EXPECT_EQ(text_of(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal)),
            "the request was given back to its scheduler, nothing can be sent for it any more");
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  EXPECT_REFUSED(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_ALL));

  opened = open_request(*request);
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), true, 1, 2, 3, 4));
  send_final();
  EXPECT_EQ(reporter.all().total(), 0u);
  EXPECT_REFUSED(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE))
      << "it is answered";
  release();
  EXPECT_EQ(reporter.all().succeeded, 1u);
}

// A backend may release first, and send and report afterwards.
TEST_F(CRequestEnd, AResponseMadeBeforeTheReschedulingIsSent) {
  Taker taker;
  request->rescheduler = &taker;
  TRITONBACKEND_Response* first = new_response();
  TRITONBACKEND_Response* dropped = new_response();
  EXPECT_DONE(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
  EXPECT_EQ(taker.taken, nullptr) << "not executed again before that";
  EXPECT_REFUSED(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_ALL));
  write(add_output(first, "A"), "a");
  EXPECT_DONE(TRITONBACKEND_ResponseSend(first, 0, nullptr));
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.responses()[0].find("A")->bytes, "a");
  EXPECT_EQ(taker.taken, nullptr) << "there is another one";
  EXPECT_DONE(TRITONBACKEND_ResponseDelete(dropped));
  EXPECT_EQ(taker.taken, &*request);
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), true, 1, 2, 3, 4));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), true, 1, 2, 3, 4))
      << "once";
  EXPECT_EQ(reporter.all().total(), 0u);

  opened = open_request(*request);
  finish();
  EXPECT_EQ(request.responses().size(), 2u);
}

TEST_F(CRequestEnd, WhatIsNotTakenBackAfterItsResponseIsAnswered) {
  Taker taker;
  taker.refusal = "draining";
  request->rescheduler = &taker;
  TRITONBACKEND_Response* response = new_response();
  EXPECT_DONE(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
  EXPECT_FALSE(request.got_release());
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, 0, nullptr));
  ASSERT_EQ(request.responses().size(), 2u);
  EXPECT_EQ(request.responses()[1].message, "draining") << "nobody else could answer it";
}

TEST_F(CRequestEnd, AFinalResponseAfterTheReschedulingEndsTheRequest) {
  Taker taker;
  request->rescheduler = &taker;
  TRITONBACKEND_Response* response = new_response();
  EXPECT_DONE(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
  EXPECT_DONE(TRITONBACKEND_ResponseSend(response, kFinal, nullptr));
  EXPECT_EQ(taker.taken, nullptr);
  EXPECT_TRUE(request.got_release());
}

TEST_F(CRequestEnd, ARequestThatIsNotTakenBackIsStillTheCallers) {
  Taker taker;
  taker.refusal = "draining";
  request->rescheduler = &taker;
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  EXPECT_EQ(text_of(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)),
            "draining");
  TRITONBACKEND_Input* input = nullptr;
  const char* name = nullptr;
  EXPECT_DONE(TRITONBACKEND_RequestInput(handle(), "IN", &input));
  EXPECT_DONE(TRITONBACKEND_InputProperties(input, &name, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_DONE(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  release();
}

TEST_F(CRequestEnd, TheHostEndsWhatWasNotTaken) {
  TRITONBACKEND_Response* forgotten = new_response();
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  EXPECT_TRUE(end_request(*opened, unavailable("not now"), &reporter));
  EXPECT_FALSE(end_request(*opened, unavailable("again"), &reporter));
  EXPECT_EQ(request.response().code, Code::kUnavailable);
  EXPECT_EQ(request.response().message, "not now");
  EXPECT_EQ(reporter.all().failed, 1u);
  EXPECT_REFUSED(TRITONBACKEND_ResponseSend(forgotten, kFinal, nullptr));
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
  EXPECT_REFUSED(TRITONBACKEND_RequestRelease(opened->handle, TRITONSERVER_REQUEST_RELEASE_ALL));
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
}

TEST_F(CRequestEnd, TheHostLeavesAFinalResponseAndAReportAsTheyAre) {
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), true, 1, 2, 3, 4));
  send_final();
  EXPECT_TRUE(end_request(*opened, internal_error("?"), &reporter));
  EXPECT_EQ(request.response().code, Code::kOk);
  EXPECT_EQ(reporter.all().succeeded, 1u);
  EXPECT_EQ(reporter.all().total(), 1u);
}

TEST_F(CRequestEnd, TheHostLeavesAReleasedRequestAlone) {
  finish();
  EXPECT_FALSE(end_request(*opened, internal_error("?"), &reporter));
  EXPECT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(reporter.all().total(), 0u);
}

TEST_F(CRequestEnd, ReleasedAndAnsweredByDifferentThreads) {
  finish();
  for (int round = 0; round < 300; ++round) {
    test::TestRequest other("other");
    other.mark_accepted();
    const OpenRequest open = open_request(*other);
    TRITONBACKEND_ResponseFactory* factory = nullptr;
    EXPECT_DONE(TRITONBACKEND_ResponseFactoryNew(&factory, open.handle));
    std::atomic<int> finals{0}, released{0};
    auto race = [&] {
      TRITONBACKEND_Response* response = nullptr;
      if (take_error(TRITONBACKEND_ResponseNewFromFactory(&response, factory)).ok())
        finals += take_error(TRITONBACKEND_ResponseSend(response, kFinal, nullptr)).ok();
      released +=
          take_error(TRITONBACKEND_RequestRelease(open.handle, TRITONSERVER_REQUEST_RELEASE_ALL)).ok();
    };
    std::thread one(race), two(race);
    one.join();
    two.join();
    EXPECT_EQ(finals, 1);
    EXPECT_EQ(released, 1);
    EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
    EXPECT_TRUE(other.done());
    EXPECT_EQ(other.problems(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace atl::triton
