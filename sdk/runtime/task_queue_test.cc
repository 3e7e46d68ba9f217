#include "atoll/runtime/task_queue.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace atl::runtime {
namespace {

TEST(TaskQueue, DueTimersComeFirstThenTasksInOrder) {
  std::string order;
  TaskQueue queue;
  queue.push(make_task([&] { order += "1"; }));
  queue.push(make_task([&] { order += "2"; }));
  queue.push_at(20, make_task([&] { order += "b"; }));
  queue.push_at(10, make_task([&] { order += "a"; }));
  queue.push_at(30, make_task([&] { order += "c"; }));
  EXPECT_EQ(queue.next_deadline_ns(), 10);
  while (auto task = queue.take(20)) run_task(*task);
  EXPECT_EQ(order, "ab12");
  EXPECT_EQ(queue.next_deadline_ns(), 30);
  for (const Task& task : queue.take_all()) drop_task(task);
  EXPECT_EQ(queue.next_deadline_ns(), TaskQueue::kNever);
}

TEST(TaskQueue, TimersOfOneMomentKeepTheirOrder) {
  std::string order;
  TaskQueue queue;
  for (char c : {'x', 'y', 'z'}) queue.push_at(5, make_task([&order, c] { order += c; }));
  while (auto task = queue.take(5)) run_task(*task);
  EXPECT_EQ(order, "xyz");
}

TEST(TaskQueue, CancelTakesATimerOutOnce) {
  TaskQueue queue;
  TimerId timer = queue.push_at(5, make_task([] {}));
  EXPECT_NE(timer, 0u);
  auto task = queue.cancel(timer);
  ASSERT_TRUE(task.has_value());
  drop_task(*task);
  EXPECT_FALSE(queue.cancel(timer).has_value());
  EXPECT_FALSE(queue.take(100).has_value());
}

TEST(RunTask, AnExceptionEndsHere) {
  EXPECT_FALSE(run_task(make_task([] { throw std::runtime_error("x"); })));
  EXPECT_TRUE(run_task(make_task([] {})));
}

}  // namespace
}  // namespace atl::runtime
