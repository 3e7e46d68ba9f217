#include "atoll/runtime/thread_executor.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/stop_executor.h"
#include "atoll/core/text.h"
#include "atoll/runtime/system_clock.h"

namespace atl::runtime {
namespace {

class ThreadExecutorTest : public testing::Test {
 protected:
  SerialExecutorPtr make(const ThreadPlacement& placement = {}) {
    auto executor = factory.create("test", placement);
    EXPECT_TRUE(executor.ok()) << executor.status().text();
    return std::move(executor).value();
  }
  SystemClock clock;
  ThreadExecutorFactory factory{clock};
};

TEST_F(ThreadExecutorTest, RunsInOrderOnItsOwnThread) {
  SerialExecutorPtr executor = make();
  std::vector<int> order;
  std::promise<bool> current;
  for (int i = 0; i < 100; ++i) executor->post(make_task([&order, i] { order.push_back(i); }));
  executor->post(make_task([&] { current.set_value(executor->is_current()); }));
  EXPECT_TRUE(current.get_future().get());
  EXPECT_FALSE(executor->is_current());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_F(ThreadExecutorTest, ATaskMayPostThroughTheOwnersPointerWhileItIsStopped) {
  SerialExecutorPtr executor = make();
  std::promise<void> runs;
  std::atomic<bool> stopping{false};
  auto dropped = std::make_shared<int>(0);
  executor->post(make_task([&] {
    runs.set_value();
    // Until the other thread has come as far as it can: it waits for this task.
    while (!stopping.load()) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    executor->post(make_task([dropped] { ADD_FAILURE() << "ran after the stop"; }));
  }));
  runs.get_future().wait();
  stopping = true;
  stop_executor(executor);
  EXPECT_EQ(executor, nullptr);
  EXPECT_EQ(dropped.use_count(), 1);
  stop_executor(executor);
}

TEST_F(ThreadExecutorTest, TimersWakeIt) {
  SerialExecutorPtr executor = make();
  int64_t deadline_ns = clock.now_ns() + 2 * kNsPerMs;
  std::promise<int64_t> ran;
  executor->post_at(deadline_ns, make_task([&] { ran.set_value(clock.now_ns()); }));
  EXPECT_GE(ran.get_future().get(), deadline_ns);
}

TEST_F(ThreadExecutorTest, AnEarlierTimerOvertakes) {
  SerialExecutorPtr executor = make();
  auto late = std::make_shared<int>(0);
  TimerId timer = executor->post_at(clock.now_ns() + 3600 * kNsPerSecond, make_task([late] {}));
  std::promise<void> ran;
  executor->post_at(clock.now_ns() + kNsPerMs, make_task([&] { ran.set_value(); }));
  ran.get_future().get();
  EXPECT_TRUE(executor->cancel(timer));
  EXPECT_EQ(late.use_count(), 1);
  EXPECT_FALSE(executor->cancel(timer));
}

TEST_F(ThreadExecutorTest, DestroyFinishesTheRunningTaskAndDropsTheRest) {
  SerialExecutorPtr executor = make();
  std::promise<void> entered;
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  auto dropped = std::make_shared<int>(0);
  bool finished = false;
  executor->post(make_task([&, may_go] {
    entered.set_value();
    may_go.wait();
    finished = true;
  }));
  executor->post_at(clock.now_ns() + 3600 * kNsPerSecond, make_task([dropped] {}));
  entered.get_future().wait();
  EXPECT_EQ(factory.live(), 1);
  go.set_value();
  executor.reset();
  EXPECT_TRUE(finished);
  EXPECT_EQ(dropped.use_count(), 1);
  EXPECT_EQ(factory.live(), 0);
}

int cpus_of_this_thread() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

int nice_of_this_thread() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }

TEST_F(ThreadExecutorTest, NiceIsAddedToTheProcessesOwn) {
  int own = ::getpriority(PRIO_PROCESS, 0);
  ThreadPlacement placement;
  placement.nice = 3;
  SerialExecutorPtr executor = make(placement);
  std::promise<int> found;
  executor->post(make_task([&] { found.set_value(nice_of_this_thread()); }));
  EXPECT_EQ(found.get_future().get(), std::min(19, own + 3));
}

TEST_F(ThreadExecutorTest, ANicedOneLeavesACpuToTheOthers) {
  const int own = cpus_of_this_thread();
  ThreadPlacement placement;
  placement.nice = 1;
  SerialExecutorPtr executor = make(placement);
  std::promise<int> found;
  executor->post(make_task([&] { found.set_value(cpus_of_this_thread()); }));
  EXPECT_EQ(found.get_future().get(), std::max(1, own - 1));
}

TEST_F(ThreadExecutorTest, TakesNothingOverFromTheThreadThatMakesIt) {
  const int own_nice = nice_of_this_thread();
  const int own_cpus = cpus_of_this_thread();
  ThreadPlacement placement;
  placement.nice = 2;
  SerialExecutorPtr niced = make(placement);
  std::promise<SerialExecutorPtr> made;
  niced->post(make_task([&] { made.set_value(make({})); }));
  SerialExecutorPtr executor = made.get_future().get();
  std::promise<std::pair<int, int>> found;
  executor->post(make_task([&] { found.set_value({nice_of_this_thread(), cpus_of_this_thread()}); }));
  EXPECT_EQ(found.get_future().get(), std::pair(own_nice, own_cpus));
}

/// The number of the thread that runs the executor's tasks.
pid_t thread_of(SerialExecutor& executor) {
  std::promise<pid_t> found;
  executor.post(make_task([&] { found.set_value(static_cast<pid_t>(::syscall(SYS_gettid))); }));
  return found.get_future().get();
}

/// Returns when the thread has ended; the test's time limit is the only other way out.
void await_end_of(pid_t thread) {
  while (std::filesystem::exists(cat("/proc/self/task/", thread))) std::this_thread::yield();
}

TEST_F(ThreadExecutorTest, AnIdleThreadEndsAndComesBackWhereItWas) {
  ThreadExecutorFactory brief{clock, {}, std::chrono::milliseconds(1)};
  const int own = nice_of_this_thread();
  ThreadPlacement placement;
  placement.nice = 3;
  SerialExecutorPtr executor = std::move(brief.create("test", placement)).value();
  for (int i = 0; i < 3; ++i) {
    await_end_of(thread_of(*executor));
    std::promise<std::pair<int, bool>> found;
    executor->post(make_task([&] { found.set_value({nice_of_this_thread(), executor->is_current()}); }));
    EXPECT_EQ(found.get_future().get(), std::pair(std::min(19, own + 3), true));
    EXPECT_FALSE(executor->is_current());
  }
  EXPECT_EQ(brief.live(), 1);
}

/// Where as many wait as may, the next one's thread ends with its work, and comes back with more of it.
TEST_F(ThreadExecutorTest, OnlySoManyThreadsWaitForWork) {
  IdleThreads one(1);
  ThreadExecutorFactory limited{clock, {}, std::chrono::hours(1), one};
  SerialExecutorPtr waits = std::move(limited.create("waits", {})).value();
  const pid_t first = thread_of(*waits);
  while (one.waiting() != 1) std::this_thread::yield();
  SerialExecutorPtr ends = std::move(limited.create("ends", {})).value();
  for (int i = 0; i < 3; ++i) await_end_of(thread_of(*ends));
  EXPECT_EQ(one.waiting(), 1);
  EXPECT_EQ(thread_of(*waits), first);
  waits.reset();
  const pid_t stays = thread_of(*ends);
  while (one.waiting() != 1) std::this_thread::yield();
  EXPECT_EQ(thread_of(*ends), stays);
  ends.reset();
  EXPECT_EQ(one.waiting(), 0);
}

TEST_F(ThreadExecutorTest, AThreadWithATimerIsNotIdle) {
  ThreadExecutorFactory brief{clock, {}, std::chrono::milliseconds(1)};
  SerialExecutorPtr executor = std::move(brief.create("test", {})).value();
  TimerId far = executor->post_at(clock.now_ns() + 3600 * kNsPerSecond, make_task([] {}));
  const pid_t before = thread_of(*executor);
  std::promise<pid_t> found;
  executor->post_at(clock.now_ns() + 20 * kNsPerMs,
                    make_task([&] { found.set_value(static_cast<pid_t>(::syscall(SYS_gettid))); }));
  EXPECT_EQ(found.get_future().get(), before);
  EXPECT_TRUE(executor->cancel(far));
}

TEST_F(ThreadExecutorTest, ATimerHasAnEndedThreadMadeAgain) {
  ThreadExecutorFactory brief{clock, {}, std::chrono::milliseconds(1)};
  SerialExecutorPtr executor = std::move(brief.create("test", {})).value();
  await_end_of(thread_of(*executor));
  const int64_t deadline_ns = clock.now_ns() + 2 * kNsPerMs;
  std::promise<int64_t> ran;
  executor->post_at(deadline_ns, make_task([&] { ran.set_value(clock.now_ns()); }));
  EXPECT_GE(ran.get_future().get(), deadline_ns);
}

/// Tasks come just when the thread is about to end: none is lost, none runs beside another, and the order
/// stays.
TEST_F(ThreadExecutorTest, NoTaskIsLostWhileTheThreadEnds) {
  for (int64_t idle_us : {0, 20, 100}) {
    ThreadExecutorFactory brief{clock, {}, std::chrono::microseconds(idle_us)};
    SerialExecutorPtr executor = std::move(brief.create("test", {})).value();
    int next = 0;
    for (int i = 0; i < 300; ++i) {
      std::promise<int> ran;
      executor->post(make_task([&, i] {
        EXPECT_EQ(next, i);
        ++next;
        ran.set_value(i);
      }));
      EXPECT_EQ(ran.get_future().get(), i);
      const int64_t until_ns = clock.now_ns() + (i % 7) * idle_us * 1000 / 3;
      while (clock.now_ns() < until_ns) std::this_thread::yield();
    }
    EXPECT_EQ(next, 300);
  }
}

TEST_F(ThreadExecutorTest, EndsWhileItsThreadEnds) {
  for (int i = 0; i < 300; ++i) {
    ThreadExecutorFactory brief{clock, {}, std::chrono::microseconds(i % 50)};
    SerialExecutorPtr executor = std::move(brief.create("test", {})).value();
    auto task = std::make_shared<int>(0);
    if (i % 2 == 0) executor->post(make_task([task] {}));
    executor.reset();
    EXPECT_EQ(task.use_count(), 1);
    EXPECT_EQ(brief.live(), 0);
  }
}

TEST_F(ThreadExecutorTest, RefusesWhatDoesNotExist) {
  uint32_t cores[] = {1'000'000};
  ThreadPlacement placement;
  placement.cpu_cores = cores;
  auto executor = factory.create("a", placement);
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.status().code(), Code::kInvalidArgument);
  EXPECT_NE(executor.status().text().find("cpu core 1000000 does not exist"), std::string::npos);
  placement = {};
  placement.numa_node = 999;
  EXPECT_EQ(factory.create("b", placement).status().code(), Code::kInvalidArgument);
  placement = {};
  placement.nice = 20;
  EXPECT_EQ(factory.create("c", placement).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(factory.live(), 0);
}

}  // namespace
}  // namespace atl::runtime
