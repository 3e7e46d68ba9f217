#include "backends/llamacpp/scheduling/chunk_size.h"

#include <gtest/gtest.h>

namespace atl::llamacpp {
namespace {

TEST(ChunkSize, WithoutATargetAsLargeAsAStep) { EXPECT_EQ(ChunkSize(0, 512).tokens(10), 512); }

TEST(ChunkSize, LearnsWhatATokenCosts) {
  ChunkSize chunk(100'000, 512);
  EXPECT_EQ(chunk.tokens(4), 64) << "before anything is known";
  for (int i = 0; i < 50; ++i) chunk.observe(4, 0, 20'000);
  for (int i = 0; i < 50; ++i) chunk.observe(4, 64, 20'000 + 64 * 1'000);
  // 80 ms are left, at 1 ms each.
  EXPECT_NEAR(chunk.tokens(4), 80, 2);
  EXPECT_NEAR(chunk.tokens(8), 60, 2);
}

TEST(ChunkSize, PromptsGoOnHoweverSlowTheMachineIs) {
  ChunkSize chunk(1'000, 512);
  for (int i = 0; i < 10; ++i) chunk.observe(30, 0, 500'000);
  chunk.observe(30, 64, 900'000);
  EXPECT_EQ(chunk.tokens(30), ChunkSize::kLeast);
}

TEST(ChunkSize, AFastMachineGetsAWholeStep) {
  ChunkSize chunk(100'000, 512);
  chunk.observe(1, 0, 1'000);
  chunk.observe(1, 64, 1'500);
  EXPECT_EQ(chunk.tokens(1), 512);
}

TEST(ChunkSize, AClockThatStandsStillTeachesNothing) {
  ChunkSize chunk(100'000, 512);
  chunk.observe(1, 64, 0);
  EXPECT_EQ(chunk.tokens(1), 64);
}

}  // namespace
}  // namespace atl::llamacpp
