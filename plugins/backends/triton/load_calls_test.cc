#include "backends/triton/load_calls.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <thread>

#include "atoll/testing/fake_host.h"

namespace atl::triton {
namespace {

class LoadCallsTest : public testing::Test {
 protected:
  LoadCalls::Callee callee() { return {"b", "TRITONBACKEND_Some", left_, around_}; }

  test::FakeHost host_;
  std::shared_ptr<LeftCalls> left_ = std::make_shared<LeftCalls>();
  std::shared_ptr<ForeignContext> around_ = std::make_shared<ForeignContext>(host_.log(), nullptr);
};

TEST_F(LoadCallsTest, WithoutATimeoutItIsTheCallersOwnCall) {
  LoadCalls calls(host_.clock(), host_.executors(), 0);
  ASSERT_TRUE(calls.open().ok());
  std::thread::id thread;
  auto call = [&] {
    thread = std::this_thread::get_id();
    return internal_error("as it was told");
  };
  EXPECT_EQ(calls.run(callee(), call).text(), "as it was told");
  EXPECT_EQ(thread, std::this_thread::get_id());
  calls.hurry();
  EXPECT_EQ(host_.simulation().executors(), 0u);
}

TEST_F(LoadCallsTest, ACallThatReturnsIsAsIfMadeHere) {
  LoadCalls calls(host_.clock(), host_.executors(), kNsPerSecond);
  ASSERT_TRUE(calls.open().ok());
  auto owned = std::make_shared<int>();
  std::thread::id thread;
  EXPECT_TRUE(calls
                  .run(callee(),
                       [&, owned]() -> Status {
                         thread = std::this_thread::get_id();
                         return {};
                       })
                  .ok());
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
  EXPECT_EQ(calls.run(callee(), [] { return internal_error("as it was told"); }).text(), "as it was told");
  EXPECT_FALSE(left_->any);
}

TEST_F(LoadCallsTest, ItsThreadRunsWhereTheCallersMay) {
  LoadCalls calls(host_.clock(), host_.executors(), kNsPerSecond);
  ASSERT_TRUE(calls.open().ok());
  cpu_set_t before, one, inside;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_TRUE(calls
                  .run(callee(),
                       [&]() -> Status {
                         ::sched_getaffinity(0, sizeof inside, &inside);
                         return {};
                       })
                  .ok());
  ::sched_setaffinity(0, sizeof before, &before);
  EXPECT_TRUE(CPU_EQUAL(&inside, &one));
}

TEST_F(LoadCallsTest, WhatIsLeftBehindOwnsWhatItWasGiven) {
  LoadCalls calls(host_.clock(), host_.executors(), 1500 * kNsPerMs);
  ASSERT_TRUE(calls.open().ok());
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> weak = owned;
  std::promise<void> inside, go_on;
  auto call = [&inside, &go_on, owned = std::move(owned)]() -> Status {
    inside.set_value();
    go_on.get_future().wait();
    return {};
  };
  auto outcome = std::async(std::launch::async, [&, call = std::move(call)]() mutable {
    return calls.run(callee(), std::move(call)).text();
  });
  inside.get_future().wait();
  host_.run_for(1500 * kNsPerMs);
  EXPECT_EQ(outcome.get(), "backend 'b' has not returned from TRITONBACKEND_Some within 1500 ms");
  EXPECT_TRUE(left_->any);
  EXPECT_EQ(left_->inside, 1u);
  EXPECT_FALSE(weak.expired());
  go_on.set_value();
  while (left_->inside != 0) std::this_thread::yield();
  EXPECT_TRUE(weak.expired());
  EXPECT_TRUE(left_->any);
  // The log belongs to this test.
  while (!host_.log().contains("which was left behind, has returned")) std::this_thread::yield();
}

TEST_F(LoadCallsTest, WithoutATimerItIsNotOpened) {
  LoadCalls calls(host_.clock(), host_.executors(), kNsPerSecond);
  host_.simulation().refuse_creates(1);
  EXPECT_EQ(calls.open().code(), Code::kResourceExhausted);
}

TEST(LentLog, WritesUntilItIsGivenBack) {
  test::RecordingLog log;
  LentLog lent(log);
  lent.info("one");
  lent.give_back();
  lent.info("two");
  EXPECT_TRUE(log.contains("one"));
  EXPECT_FALSE(log.contains("two"));
  EXPECT_FALSE(lent.enabled(LogLevel::kError));
}

}  // namespace
}  // namespace atl::triton
