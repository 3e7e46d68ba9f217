#include "atoll/runtime/control_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "atoll/runtime/system_clock.h"

namespace atl::runtime {
namespace {

TEST(ControlLoop, RunsTasksInOrderIncludingThoseThatTasksPost) {
  SystemClock clock;
  ControlLoop loop(clock);
  std::string order;
  loop.post(make_task([&] {
    order += "1";
    loop.post(make_task([&] { order += "3"; }));
  }));
  loop.post(make_task([&] { order += "2"; }));
  loop.run_ready();
  EXPECT_EQ(order, "123");
}

TEST(ControlLoop, IsWokenByOtherThreads) {
  SystemClock clock;
  ControlLoop loop(clock);
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) loop.post(make_task([&] { ran.fetch_add(1); }));
    });
  }
  loop.run_until([&] { return ran.load() == 400; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(loop.is_current());
}

TEST(ControlLoop, TimersRunNotBeforeTheirTime) {
  SystemClock clock;
  ControlLoop loop(clock);
  int64_t deadline_ns = clock.now_ns() + 3 * kNsPerMs;
  int64_t ran_ns = 0;
  loop.post_at(deadline_ns, make_task([&] { ran_ns = clock.now_ns(); }));
  loop.run_until([&] { return ran_ns != 0; });
  EXPECT_GE(ran_ns, deadline_ns);
}

TEST(ControlLoop, CancelDropsTheTask) {
  SystemClock clock;
  ControlLoop loop(clock);
  auto token = std::make_shared<int>(0);
  TimerId timer = loop.post_at(clock.now_ns() + 3600 * kNsPerSecond, make_task([token] {}));
  EXPECT_EQ(token.use_count(), 2);
  EXPECT_TRUE(loop.cancel(timer));
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_FALSE(loop.cancel(timer));
}

TEST(ControlLoop, DropsWhatIsLeft) {
  SystemClock clock;
  auto token = std::make_shared<int>(0);
  {
    ControlLoop loop(clock);
    loop.post(make_task([token] {}));
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(ControlLoop, CountsTasksThatThrowAndGoesOn) {
  SystemClock clock;
  ControlLoop loop(clock);
  int threw = 0;
  bool ran = false;
  loop.on_throw([&] { ++threw; });
  loop.post(make_task([] { throw std::runtime_error("x"); }));
  loop.post(make_task([&] { ran = true; }));
  loop.run_ready();
  EXPECT_EQ(threw, 1);
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace atl::runtime
