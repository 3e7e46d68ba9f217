#include "frontends/common/loop/event_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "frontends/common/loop/posted_function.h"

namespace atl::frontends {
namespace {

struct TellingWatcher final : Watcher {
  void on_ready(uint32_t events) noexcept override {
    last = events;
    ++told;
    if (then) then();
  }
  std::function<void()> then;
  uint32_t last = 0;
  int told = 0;
};

struct TellingTimer final : Timer {
  void on_time() noexcept override {
    ++told;
    if (then) then();
  }
  std::function<void()> then;
  int told = 0;
};

struct TellingEnd final : TurnEnd {
  void on_turn_end() noexcept override { ++told; }
  int told = 0;
};

struct TellingItem final : Posted {
  void on_posted() noexcept override {
    if (then) then();
    told.store(told.load() + 1);
  }
  std::function<void()> then;
  std::atomic<int> told{0};
};

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
  ~Pair() {
    close(ends[0]);
    close(ends[1]);
  }
  void send() const { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  int ends[2];
};

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() { EXPECT_TRUE(loop_.open().ok()); }
  test::FakeClock clock_;
  EventLoop loop_{clock_};
};

TEST_F(EventLoopTest, TellsOfADescriptorAsLongAsItIsReady) {
  Pair pair;
  TellingWatcher watcher;
  ASSERT_TRUE(loop_.watch(pair.ends[0], EPOLLIN, watcher).ok());
  loop_.turn(0);
  EXPECT_EQ(watcher.told, 0);
  pair.send();
  loop_.turn(0);
  loop_.turn(0);
  EXPECT_EQ(watcher.told, 2);
  loop_.rewatch(pair.ends[0], EPOLLOUT, watcher);
  loop_.turn(0);
  EXPECT_EQ(watcher.last, static_cast<uint32_t>(EPOLLOUT));
  loop_.forget(pair.ends[0], watcher);
  loop_.turn(0);
  EXPECT_EQ(watcher.told, 3);
}

TEST_F(EventLoopTest, AForgottenWatcherIsNotToldInTheSameTurn) {
  Pair pairs[2];
  TellingWatcher watchers[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(loop_.watch(pairs[i].ends[0], EPOLLIN, watchers[i]).ok());
    watchers[i].then = [&, i] { loop_.forget(pairs[1 - i].ends[0], watchers[1 - i]); };
    pairs[i].send();
  }
  loop_.turn(0);
  EXPECT_EQ(watchers[0].told + watchers[1].told, 1);
}

TEST_F(EventLoopTest, TimersComeInOrderAndOnce) {
  std::vector<int> order;
  TellingTimer timers[3];
  for (int i = 0; i < 3; ++i) {
    timers[i].then = [&order, i] { order.push_back(i); };
  }
  const int64_t now = clock_.now_ns();
  loop_.set(timers[0], now + 30);
  loop_.set(timers[1], now + 10);
  loop_.set(timers[2], now + 20);
  loop_.set(timers[2], now + 40);
  loop_.turn(0);
  EXPECT_TRUE(order.empty());
  clock_.advance(35);
  loop_.turn(0);
  EXPECT_EQ(order, (std::vector<int>{1, 0}));
  EXPECT_FALSE(timers[0].is_set());
  timers[2].unset();
  clock_.advance(100);
  loop_.turn(0);
  EXPECT_EQ(order.size(), 2u);
}

TEST_F(EventLoopTest, ATimerThatEndsIsNotTold) {
  {
    TellingTimer timer;
    loop_.set(timer, clock_.now_ns());
  }
  loop_.turn(0);
  TellingTimer other;
  loop_.set(other, clock_.now_ns());
  loop_.turn(0);
  EXPECT_EQ(other.told, 1);
}

TEST_F(EventLoopTest, TheEndOfATurnIsToldOnceForMany) {
  Pair pair;
  TellingWatcher watcher;
  TellingEnd end;
  watcher.then = [&] {
    loop_.at_turn_end(end);
    loop_.at_turn_end(end);
  };
  ASSERT_TRUE(loop_.watch(pair.ends[0], EPOLLIN, watcher).ok());
  pair.send();
  loop_.turn(0);
  EXPECT_EQ(end.told, 1);
}

TEST_F(EventLoopTest, WhatTheThreadPostsItselfRunsInTheSameTurn) {
  TellingItem item;
  TellingTimer timer;
  timer.then = [&] { loop_.post(item); };
  loop_.set(timer, clock_.now_ns());
  loop_.turn(0);
  EXPECT_EQ(item.told, 1);
}

TEST_F(EventLoopTest, OtherThreadsWakeIt) {
  std::thread thread([&] { loop_.run(); });
  TellingItem item;
  std::atomic<bool> was_current{false};
  item.then = [&] { was_current = loop_.is_current(); };
  for (int i = 1; i <= 100; ++i) {
    loop_.post(item);
    while (item.told != i) std::this_thread::yield();
  }
  EXPECT_TRUE(was_current);
  EXPECT_FALSE(loop_.is_current());
  loop_.stop();
  thread.join();
}

TEST_F(EventLoopTest, RunsFunctionsInTheOrderPosted) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    PostedFunction::post(loop_, [&order, i] { order.push_back(i); });
  }
  EXPECT_TRUE(order.empty());
  loop_.turn(0);
  loop_.turn(0);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST_F(EventLoopTest, TimeStandsStillDuringATurn) {
  int64_t first = 0;
  int64_t second = 0;
  TellingTimer timer;
  timer.then = [&] {
    first = loop_.now_ns();
    clock_.advance(50);
    second = loop_.now_ns();
  };
  loop_.set(timer, clock_.now_ns());
  loop_.turn(0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(loop_.now_ns(), first + 50);
}

}  // namespace
}  // namespace atl::frontends
