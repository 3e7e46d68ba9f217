#include "schedulers/common/batch/request_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;

/// What a sequence scheduler would hold for one request.
struct Slot final : private RequestEndListener {
  void on_released(RequestEnd&) noexcept override { ++releases; }
  void on_ended(RequestEnd& which) noexcept override {
    EXPECT_EQ(&which, &end);
    ++ends;
    if (then) then();
  }
  std::function<void()> then;
  std::atomic<int> releases{0}, ends{0};
  RequestEnd end{*this};
};

class RequestEndTest : public ::testing::Test {
 protected:
  void give(TestRequest& request) {
    slot.end.watch(*request);
    request.mark_accepted();
  }
  static void answer(TestRequest& request) { request->sink->new_response()->send(); }
  static void release(TestRequest& request) { EXPECT_TRUE(request->release().ok()); }
  Slot slot;
};

TEST_F(RequestEndTest, IsTheReleaseAfterTheAnswer) {
  TestRequest request;
  give(request);
  answer(request);
  EXPECT_EQ(slot.ends, 0);
  release(request);
  EXPECT_EQ(slot.releases, 1);
  EXPECT_EQ(slot.ends, 1);
  EXPECT_TRUE(request.done());
  EXPECT_TRUE(request.problems().empty());
}

TEST_F(RequestEndTest, OrTheAnswerAfterTheRelease) {
  TestRequest request;
  give(request);
  Response* response = request->sink->new_response();
  release(request);
  EXPECT_EQ(slot.releases, 1) << "the next request of a sequence need not wait for the answer";
  EXPECT_EQ(slot.ends, 0);
  response->send();
  EXPECT_EQ(slot.ends, 1);
  EXPECT_TRUE(request.done());
  EXPECT_TRUE(request.problems().empty());
}

TEST_F(RequestEndTest, IsNeitherAnEarlierResponseNorADiscardedOne) {
  TestRequest request;
  give(request);
  request->sink->new_response()->send(0);
  request->sink->discard(request->sink->new_response());
  ResponseSink* sink = request->sink;
  release(request);
  sink->new_response()->send(0);
  EXPECT_EQ(slot.ends, 0);
  sink->send(nullptr, kFinal);
  EXPECT_EQ(slot.ends, 1) << "flags alone are an end";
  EXPECT_EQ(request.responses().size(), 3u);
  EXPECT_TRUE(request.problems().empty());
}

TEST_F(RequestEndTest, IsNotARequestThatGoesBackToItsScheduler) {
  struct Taker final : Rescheduler {
    Status reschedule(Request&) noexcept override { return {}; }
  } taker;
  TestRequest request;
  request->rescheduler = &taker;
  give(request);
  EXPECT_TRUE(request->release(kReleaseReschedule).ok());
  EXPECT_EQ(slot.releases + slot.ends, 0);
  fail_request(*request, internal_error("no"));
  EXPECT_EQ(slot.ends, 1);
}

TEST_F(RequestEndTest, TheSinkHasSeenItFirst) {
  TestRequest request;
  slot.then = [&] { EXPECT_TRUE(request.done()); };
  give(request);
  fail_request(*request, internal_error("no"));
  EXPECT_EQ(slot.ends, 1);
}

TEST_F(RequestEndTest, TheNextRequestMayBeGivenAtOnce) {
  TestRequest first, second;
  slot.then = [&] {
    if (slot.ends == 1) give(second);
  };
  give(first);
  fail_request(*first, internal_error("no"));
  EXPECT_EQ(slot.ends, 1);
  answer(second);
  release(second);
  EXPECT_EQ(slot.ends, 2);
  EXPECT_TRUE(first.done() && second.done());
}

TEST_F(RequestEndTest, ARefusedRequestHasItsSinkAgain) {
  TestRequest request;
  slot.end.watch(*request);
  slot.end.withdraw(*request);
  EXPECT_EQ(request->sink, &request);
  give(request);
  fail_request(*request, internal_error("no"));
  EXPECT_EQ(slot.ends, 1);
}

TEST_F(RequestEndTest, TwoThreadsEndItOnce) {
  constexpr int kRounds = 2000;
  std::atomic<Request*> request{nullptr};
  std::atomic<Response*> response{nullptr};
  std::barrier together(2);
  std::thread releases([&] {
    for (int i = 0; i < kRounds; ++i) {
      together.arrive_and_wait();
      EXPECT_TRUE(request.load()->release().ok());
      together.arrive_and_wait();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    TestRequest one;
    give(one);
    response = one->sink->new_response();
    request = &*one;
    together.arrive_and_wait();
    response.load()->send();
    together.arrive_and_wait();
    ASSERT_EQ(slot.ends, i + 1);
    EXPECT_TRUE(one.problems().empty());
  }
  releases.join();
}

}  // namespace
}  // namespace atl::schedulers
