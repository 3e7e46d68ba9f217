#include "atoll/runtime/call_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "atoll/runtime/system_clock.h"

namespace atl::runtime {
namespace {

class HandClock final : public Clock {
 public:
  int64_t now_ns() const noexcept override { return now_.load(); }
  int64_t wall_ns() const noexcept override { return now_.load(); }
  void advance(int64_t ns) { now_.fetch_add(ns); }

 private:
  std::atomic<int64_t> now_{1000 * kNsPerSecond};
};

class CallWatchTest : public testing::Test {
 protected:
  void advance_and_look(int64_t ns) {
    clock.advance(ns);
    watch.look();
  }
  HandClock clock;
  std::vector<std::string> said;
  std::string ended;
  CallWatch watch{clock, [this](std::string_view line) { said.emplace_back(line); }};
};

TEST_F(CallWatchTest, SaysAfterOneAndTenSecondsAndNoMore) {
  CallWatch::Call call(&watch, "start of plugin 'x' (role/name)");
  advance_and_look(999 * kNsPerMs);
  EXPECT_TRUE(said.empty());
  advance_and_look(kNsPerMs);
  EXPECT_EQ(said, std::vector<std::string>{"still in start of plugin 'x' (role/name) after 1 s"});
  advance_and_look(8 * kNsPerSecond);
  EXPECT_EQ(said.size(), 1u);
  advance_and_look(2 * kNsPerSecond);
  advance_and_look(100 * kNsPerSecond);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[1], "still in start of plugin 'x' (role/name) after 11 s");
}

TEST_F(CallWatchTest, ALateLookSaysItOnce) {
  CallWatch::Call call(&watch, "stop of plugin 'x'");
  advance_and_look(20 * kNsPerSecond);
  EXPECT_EQ(said, std::vector<std::string>{"still in stop of plugin 'x' after 20 s"});
}

TEST_F(CallWatchTest, WhatHasEndedIsNotTold) {
  { CallWatch::Call call(&watch, "create of plugin 'x'"); }
  advance_and_look(20 * kNsPerSecond);
  EXPECT_TRUE(said.empty());
}

TEST_F(CallWatchTest, ACallEndsEverythingWhenItsTimeIsOver) {
  int64_t by_ns = 0;
  watch.ends([&] { return by_ns; }, [this](std::string_view what) { ended = what; });
  CallWatch::Call call(&watch, "stop of plugin 'x'");
  advance_and_look(3 * kNsPerSecond);
  by_ns = clock.now_ns() + 2 * kNsPerSecond;
  advance_and_look(kNsPerSecond);
  EXPECT_EQ(ended, "");
  advance_and_look(kNsPerSecond);
  EXPECT_EQ(ended, "still in stop of plugin 'x' after 5 s");
}

TEST_F(CallWatchTest, ACallThatBeginsAfterTheTimeHasAMoment) {
  watch.ends([by_ns = clock.now_ns()] { return by_ns; }, [this](std::string_view what) { ended = what; });
  clock.advance(1);
  CallWatch::Call call(&watch, "stop of plugin 'x'");
  advance_and_look(kNsPerSecond / 2);
  EXPECT_EQ(ended, "");
  advance_and_look(kNsPerSecond);
  EXPECT_EQ(ended, "still in stop of plugin 'x' after 1 s");
}

TEST(CallWatchThread, LooksByItself) {
  SystemClock clock;
  std::atomic<bool> ended{false};
  CallWatch watch(clock, [](std::string_view) {});
  watch.ends([] { return int64_t{1}; }, [&](std::string_view) { ended.store(true); });
  watch.start();
  CallWatch::Call call(&watch, "stop of plugin 'x'");
  while (!ended.load()) std::this_thread::yield();
}

}  // namespace
}  // namespace atl::runtime
