#include "backends/python/worker_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <vector>

#include "atoll/testing/fake_host.h"

namespace atl::python {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(loop_.start(host_.executors()).ok()); }

  test::FakeHost host_{"python", test::FakeHost::Threads::kReal};
  WorkerLoop loop_{host_.clock()};
};

TEST_F(EventLoopTest, WorkRunsInOrderOnItsThread) {
  std::vector<int> ran;
  loop_.post([&] { ran.push_back(loop_.is_current() ? 1 : -1); });
  loop_.call([&] {
    ran.push_back(2);
    loop_.call([&] { ran.push_back(3); });
  });
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(loop_.is_current());
  EXPECT_TRUE(loop_.start(host_.executors()).ok()) << "once more does nothing";
}

TEST_F(EventLoopTest, TimersRunWhenTheyAreDueUnlessCancelled) {
  std::promise<void> last;
  std::vector<int> ran;
  loop_.call([&] {
    const int64_t now_ns = host_.clock().now_ns();
    loop_.at(now_ns + 3 * kNsPerMs, [&] { last.set_value(); });
    const WorkerLoop::Timer cancelled = loop_.at(now_ns + 2 * kNsPerMs, [&] { ran.push_back(2); });
    loop_.at(now_ns + kNsPerMs, [&] { ran.push_back(1); });
    loop_.cancel(cancelled);
  });
  last.get_future().wait();
  EXPECT_EQ(ran, std::vector<int>{1});
}

TEST_F(EventLoopTest, DescriptorsAreWatchedUntilTheyAreNot) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  std::promise<char> got;
  int calls = 0;
  loop_.call([&] {
    loop_.watch(read_end.get(), [&] {
      char byte = 0;
      EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
      loop_.unwatch(read_end.get());
      ++calls;
      got.set_value(byte);
    });
  });
  ASSERT_EQ(::write(write_end.get(), "xy", 2), 2);
  EXPECT_EQ(got.get_future().get(), 'x');
  loop_.call([] {});
  loop_.call([&] { EXPECT_EQ(calls, 1); });
}

}  // namespace
}  // namespace atl::python
