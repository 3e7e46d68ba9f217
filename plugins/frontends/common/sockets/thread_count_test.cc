#include "frontends/common/sockets/thread_count.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace atl::frontends
