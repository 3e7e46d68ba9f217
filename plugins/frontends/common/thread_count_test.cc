#include "common/thread_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace atl::frontends {
namespace {

TEST(ThreadCount, ZeroIsOneForEachCpuUpToEight) {
  EXPECT_EQ(thread_count(0, 1), 1u);
  EXPECT_EQ(thread_count(0, 3), 3u);
  EXPECT_EQ(thread_count(0, 96), 8u);
}

TEST(ThreadCount, ANumberIsTakenAsItIs) {
  EXPECT_EQ(thread_count(1, 16), 1u);
  EXPECT_EQ(thread_count(32, 2), 32u);
}

TEST(ThreadCount, OnlyCpusThatTheThreadMayUseCount) {
  uint32_t pinned = 0;
  std::thread thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    pinned = usable_cpus();
  });
  thread.join();
  EXPECT_EQ(pinned, 1u);
  EXPECT_GE(usable_cpus(), 1u);
}

}  // namespace
}  // namespace atl::frontends
