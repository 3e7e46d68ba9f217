#include "atoll/runtime/instance_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>

#include "atoll/runtime/control_loop.h"
#include "atoll/runtime/system_clock.h"
#include "atoll/runtime/worker_threads.h"

namespace atl::runtime {
namespace {

class InstanceTasksTest : public testing::Test {
 protected:
  SystemClock clock;
  ControlLoop loop{clock};
  WorkerThreads workers{1};
  std::atomic<int> idle{0};
  std::atomic<int> threw{0};
  std::shared_ptr<InstanceTasks> tasks = std::make_shared<InstanceTasks>(
      loop, workers, [this] { idle.fetch_add(1); }, [this] { threw.fetch_add(1); });
};

TEST_F(InstanceTasksTest, CountsWhatIsQueuedAndRuns) {
  int64_t inside = 0;
  tasks->post_control(make_task([&] { inside = tasks->pending(); }));
  EXPECT_EQ(tasks->pending(), 1);
  loop.run_ready();
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(tasks->pending(), 0);
  EXPECT_EQ(idle.load(), 0);
}

TEST_F(InstanceTasksTest, TellsWhenTheLastOneEnded) {
  tasks->watch_idle();
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  tasks->run(make_task([may_go] { may_go.wait(); }));
  tasks->post_control(make_task([] {}));
  loop.run_ready();
  EXPECT_EQ(idle.load(), 0);
  go.set_value();
  loop.post_at(clock.now_ns(), make_task([] {}));
  while (tasks->pending() != 0) loop.run_ready();
  while (idle.load() == 0) loop.run_ready();
  EXPECT_EQ(idle.load(), 1);
}

TEST_F(InstanceTasksTest, CloseDropsOnTheSpotAndForEver) {
  auto token = std::make_shared<int>(0);
  tasks->post_control(make_task([token] {}));
  EXPECT_EQ(token.use_count(), 2);
  tasks->close();
  EXPECT_EQ(token.use_count(), 1);
  tasks->post_control(make_task([token] {}));
  tasks->run(make_task([token] {}));
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(tasks->pending(), 0);
  loop.run_ready();
}

TEST_F(InstanceTasksTest, ReportsTasksThatThrow) {
  tasks->post_control(make_task([] { throw std::runtime_error("x"); }));
  loop.run_ready();
  EXPECT_EQ(threw.load(), 1);
  EXPECT_EQ(tasks->pending(), 0);
}

}  // namespace
}  // namespace atl::runtime
