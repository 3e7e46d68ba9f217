#include "atoll/core/usable_cpus.h"

#include <gtest/gtest.h>

#include <thread>

namespace atl {
namespace {

TEST(UsableCpus, OnlyThoseThatTheThreadMayUseCount) {
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
}  // namespace atl
