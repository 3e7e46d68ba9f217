#include "atoll/runtime/thread_executor.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

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
