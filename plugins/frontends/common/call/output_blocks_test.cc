#include "frontends/common/call/output_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace atl::frontends {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(OutputBlocks, AreAligned) {
  for (const size_t bytes : {size_t{1}, size_t{4097}, size_t{64} << 10, kMiB + 1, 16 * kMiB}) {
    void* const block = take_output_block(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    std::memset(block, 1, bytes);
    free_output_block(block);
  }
  free_output_block(nullptr);
}

TEST(OutputBlocks, TheLastOneFreedComesFirst) {
  void* const one = take_output_block(kMiB);
  void* const other = take_output_block(kMiB);
  free_output_block(one);
  free_output_block(other);
  EXPECT_EQ(take_output_block(kMiB - 100), other);
  EXPECT_EQ(take_output_block(kMiB), one);
  std::free(one);  // it is of the C library
  free_output_block(other);
}

TEST(OutputBlocks, ALargeOneIsNotUsedForLittle) {
  void* const large = take_output_block(4 * kMiB);
  free_output_block(large);
  void* const small = take_output_block(kMiB);
  EXPECT_NE(small, large);
  free_output_block(small);
}

TEST(OutputBlocks, MoreThanThereIsIsRefused) {
  EXPECT_EQ(take_output_block(std::numeric_limits<size_t>::max()), nullptr);
  EXPECT_EQ(take_output_block(std::numeric_limits<size_t>::max() / 2), nullptr);
}

TEST(OutputBlocks, OldOnesMakeRoomForNewOnes) {
  std::vector<void*> old;
  for (int i = 0; i < 100; ++i) old.push_back(take_output_block(kMiB));
  for (void* block : old) free_output_block(block);
  void* const other = take_output_block(7 * kMiB);
  free_output_block(other);
  EXPECT_EQ(take_output_block(7 * kMiB), other);
  free_output_block(other);
}

TEST(OutputBlocks, AnyThreadMayFree) {
  const auto work = [] {
    for (size_t i = 0; i < 200; ++i) {
      void* const block = take_output_block(kMiB / 4 + i);
      std::memset(block, 1, 1);
      std::thread([block] { free_output_block(block); }).join();
    }
  };
  std::thread one(work);
  work();
  one.join();
}

}  // namespace
}  // namespace atl::frontends
