#include "schedulers/common/sequence/waiting_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::FakeHost;
using test::TestRequest;

/// A line of requests that nobody executes, as a scheduler would hold it.
class Line final : private WaitingListener {
 public:
  explicit Line(FakeHost& host, QueuePolicies policies = {})
      : clock(host.clock()),
        queue(std::move(policies)),
        room(mutex, host.clock(), &reporter, host.executors().create("answers", {}).value(), *this) {}
  virtual ~Line() = default;

  bool enter(TestRequest& request) {
    request.mark_accepted();
    std::lock_guard lock(mutex);
    EXPECT_TRUE(queue.push(*request, clock.now_ns()));
    if (!room.listen(*request)) {
      queue.remove(*request);
      return false;
    }
    room.arm_for_timeouts(queue);
    return true;
  }
  uint64_t leaving() {
    std::lock_guard lock(mutex);
    return room.leaving();
  }
  uint64_t refused(FailureReason reason) const {
    return reporter.all().not_executed[static_cast<size_t>(reason)];
  }

  void on_cancelled(Request& request) noexcept override {
    ++cancels;
    if (!queue.contains(request)) return;
    queue.remove(request);
    room.refuse(request, kCancelledInQueue);
    while (takes_all && !queue.empty()) {
      Request& other = *queue.front();
      queue.remove(other);
      room.refuse(other, kCancelledInQueue);
    }
  }
  void recheck() noexcept override {
    std::lock_guard lock(mutex);
    ++looks;
    room.rechecked(clock.now_ns());
    changed = room.expire(queue, clock.now_ns()) || changed;
    room.arm_for_timeouts(queue);
  }

  Clock& clock;
  test::RecordingReporter reporter;
  std::mutex mutex;
  PolicyQueue queue;
  bool takes_all = false;  // one that is cancelled takes the others with it, as in a sequence
  bool changed = false;
  int cancels = 0, looks = 0;
  WaitingRoom room;
};

QueuePolicies timeout_of_5ms(TimeoutAction action) {
  QueuePolicies policies;
  policies.default_policy.timeout_action = action;
  policies.default_policy.default_timeout_us = 5000;
  return policies;
}

class WaitingRoomTest : public ::testing::Test {
 protected:
  void expect_done(TestRequest& request, Code code, std::string_view message) {
    ASSERT_TRUE(request.done());
    EXPECT_EQ(request.response().code, code);
    EXPECT_EQ(request.response().message, message);
    EXPECT_TRUE(request.problems().empty());
  }
  FakeHost host{"waiting"};
};

TEST_F(WaitingRoomTest, WhoIsCancelledIsAnsweredLaterByAnotherThread) {
  Line line(host);
  TestRequest cancelled("c"), waits("w");
  ASSERT_TRUE(line.enter(cancelled));
  ASSERT_TRUE(line.enter(waits));
  cancelled.cancel();
  EXPECT_EQ(line.queue.size(), 1u) << "its place is free at once";
  EXPECT_EQ(line.leaving(), 1u);
  EXPECT_FALSE(cancelled.got_final() || cancelled.got_release()) << "who cancels still uses it";
  host.run_until_idle();
  expect_done(cancelled, Code::kCancelled, "");
  EXPECT_EQ(line.leaving(), 0u);
  EXPECT_EQ(line.refused(FailureReason::kCanceled), 1u);
  EXPECT_FALSE(waits.done());
  waits.cancel();
  host.run_until_idle();
}

TEST_F(WaitingRoomTest, WhoIsCancelledAlreadyDoesNotWait) {
  Line line(host);
  TestRequest request;
  request.cancel();
  EXPECT_FALSE(line.enter(request));
  EXPECT_FALSE(line.room.end_wait(*request));
  line.room.answer(*request, kCancelledInQueue);
  expect_done(request, Code::kCancelled, "");
  EXPECT_EQ(line.cancels, 0);
  EXPECT_EQ(line.leaving(), 0u);
}

TEST_F(WaitingRoomTest, WhoeverCanNotGoOnWithoutItLeavesToo) {
  Line line(host);
  line.takes_all = true;
  TestRequest requests[4];
  for (TestRequest& request : requests) ASSERT_TRUE(line.enter(request));
  requests[2].cancel();
  requests[0].cancel();  // while it waits to be answered
  EXPECT_EQ(line.leaving(), 4u);
  host.run_until_idle();
  for (TestRequest& request : requests) expect_done(request, Code::kCancelled, "");
  EXPECT_EQ(line.leaving(), 0u);
}

TEST_F(WaitingRoomTest, AnAnswerMayBringTheNextRefusal) {
  Line line(host);
  TestRequest first, second;
  ASSERT_TRUE(line.enter(first));
  ASSERT_TRUE(line.enter(second));
  first.on_response([&](const test::ReceivedResponse&) { second.cancel(); });
  first.cancel();
  host.run_until_idle();
  expect_done(first, Code::kCancelled, "");
  expect_done(second, Code::kCancelled, "");
  EXPECT_EQ(line.leaving(), 0u);
}

TEST_F(WaitingRoomTest, TimeoutsThatRejectAreAnsweredInTime) {
  Line line(host, timeout_of_5ms(TimeoutAction::kReject));
  TestRequest early("early"), late("late");
  ASSERT_TRUE(line.enter(early));
  host.run_for(3 * kNsPerMs);
  ASSERT_TRUE(line.enter(late));
  host.run_for(3 * kNsPerMs);
  expect_done(early, Code::kUnavailable, "Request timeout expired");
  EXPECT_FALSE(late.done());
  host.run_for(3 * kNsPerMs);
  expect_done(late, Code::kUnavailable, "Request timeout expired");
  EXPECT_TRUE(line.changed);
  EXPECT_EQ(line.refused(FailureReason::kRejected), 2u);
  EXPECT_EQ(line.looks, 2) << "when a timeout has run out, and only then";
}

TEST_F(WaitingRoomTest, TimeoutsThatDelayOnlyChangeTheOrder) {
  Line line(host, timeout_of_5ms(TimeoutAction::kDelay));
  TestRequest request;
  ASSERT_TRUE(line.enter(request));
  host.run_for(6 * kNsPerMs);
  EXPECT_TRUE(line.changed);
  EXPECT_EQ(line.queue.size(), 1u);
  EXPECT_EQ(line.leaving(), 0u);
  request.cancel();
  host.run_until_idle();
  expect_done(request, Code::kCancelled, "");
}

TEST_F(WaitingRoomTest, ARefusalOfTheSchedulersOwnSaysItsReason) {
  Line line(host);
  const std::string text = "too late";
  const WaitRefusal refusal{FailureReason::kOther,
                            [](const Request&, const void* context) {
                              return unavailable(*static_cast<const std::string*>(context));
                            },
                            &text};
  TestRequest request;
  ASSERT_TRUE(line.enter(request));
  {
    std::lock_guard lock(line.mutex);
    line.queue.remove(*request);
    line.room.refuse(*request, refusal);
  }
  host.run_until_idle();
  expect_done(request, Code::kUnavailable, "too late");
  EXPECT_EQ(line.refused(FailureReason::kOther), 1u);
}

TEST_F(WaitingRoomTest, NobodyWaitsForWhoHasGivenUp) {
  Line line(host);
  TestRequest wanted, late, cancelled;
  wanted->times.deadline_ns = host.clock().now_ns();
  late->times.deadline_ns = host.clock().now_ns() - 1;
  cancelled.cancel();
  EXPECT_TRUE(line.room.end_wait(*wanted));
  EXPECT_FALSE(line.room.end_wait(*late));
  EXPECT_FALSE(line.room.end_wait(*cancelled));
}

TEST_F(WaitingRoomTest, NobodyLooksAfterTheEnd) {
  auto line = std::make_unique<Line>(host);
  {
    std::lock_guard lock(line->mutex);
    line->room.recheck_at(host.clock().now_ns() + kNsPerMs);
  }
  line->room.close();
  host.run_for(2 * kNsPerMs);
  EXPECT_EQ(line->looks, 0);
  line.reset();
  host.run_until_idle();
}

/// One thread cancels, one takes requests to execute them: each ends once, on one side or the other.
TEST(WaitingRoomThreads, CancelledOrExecuted) {
  constexpr size_t kRequests = 500;
  FakeHost host("waiting", FakeHost::Threads::kReal);
  auto line = std::make_unique<Line>(host);
  std::vector<std::unique_ptr<TestRequest>> requests;
  for (size_t i = 0; i < kRequests; ++i) requests.push_back(std::make_unique<TestRequest>(cat("r", i)));
  for (auto& request : requests) ASSERT_TRUE(line->enter(*request));
  std::thread canceller([&] {
    test::Random random(3);
    for (size_t i = 0; i < 2 * kRequests; ++i) requests[random.below(kRequests)]->cancel();
  });
  while (true) {
    Request* request = nullptr;
    {
      std::lock_guard lock(line->mutex);
      if ((request = line->queue.front()) == nullptr) break;
      line->queue.remove(*request);
    }
    if (!line->room.end_wait(*request)) {
      line->room.answer(*request, kCancelledInQueue);
      continue;
    }
    line->reporter.report_request(*request, true, {});
    request->sink->new_response()->send();
    EXPECT_TRUE(request->release().ok());
  }
  canceller.join();
  for (auto& request : requests) ASSERT_TRUE(request->wait_done());
  while (line->leaving() != 0) std::this_thread::yield();
  for (auto& request : requests) {
    EXPECT_EQ(line->reporter.of(std::string((*request)->id)).total(), 1u);
    EXPECT_TRUE(request->problems().empty());
  }
  line.reset();
}

}  // namespace
}  // namespace atl::schedulers
