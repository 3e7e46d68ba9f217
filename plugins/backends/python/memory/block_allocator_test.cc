#include "backends/python/memory/block_allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "atoll/testing/random.h"

namespace atl::python {
namespace {

class BlockAllocatorTest : public ::testing::Test, protected SlabTable::Sender {
 protected:
  bool send_slab(const SlabPacket& packet, int descriptor) noexcept override {
    EXPECT_GE(descriptor, 0);
    EXPECT_EQ(packet.index, sent_.size());
    sent_.push_back(packet.size_bytes);
    return takes_;
  }
  const Block* allocate(uint64_t bytes) {
    Result<const Block*> block = allocator_.allocate(bytes);
    EXPECT_TRUE(block.ok()) << block.status().text();
    return block.ok() ? *block : nullptr;
  }
  /// Both sides are done.
  void release(const Block* block) {
    block->header->held = 0;
    allocator_.give_back(block, true);
  }

  std::vector<uint64_t> sent_;
  bool takes_ = true;
  SlabTable slabs_{"test", 16 << 20, *this};
  BlockAllocator allocator_{slabs_, 1 << 20};
};

TEST_F(BlockAllocatorTest, ABlockIsWhereTheTableSays) {
  const Block* block = allocate(100);
  EXPECT_EQ(slabs_.find(block->slab, block->offset, 100), block->payload);
  EXPECT_EQ(block->offset % kBlockAlignment, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block->payload) % kBlockAlignment, 0u);
  EXPECT_EQ(block->header->held, 1u);
  EXPECT_EQ(sent_, std::vector<uint64_t>{1 << 20});
}

TEST_F(BlockAllocatorTest, MemoryIsUsedAgainWhenBothAreDone) {
  const Block* first = allocate(1000);
  const uint64_t offset = first->offset;
  allocator_.give_back(first, true);
  const Block* second = allocate(1000);
  EXPECT_NE(second->offset, offset) << "the worker still has the first one";
  first->header->held = 0;
  const Block* third = allocate(1000);
  EXPECT_EQ(third->offset, offset);
  third->header->held = 0;
  EXPECT_NE(allocate(1000)->offset, offset) << "this side still has the third one";
}

TEST_F(BlockAllocatorTest, WhatWasNeverSentIsFreeAtOnce) {
  const Block* first = allocate(1000);
  const uint64_t offset = first->offset;
  allocator_.give_back(first, false);
  EXPECT_EQ(allocate(1000)->offset, offset);
}

TEST_F(BlockAllocatorTest, GrowsUntilTheLimit) {
  std::vector<const Block*> blocks;
  while (true) {
    Result<const Block*> block = allocator_.allocate(900 << 10);
    if (!block.ok()) {
      EXPECT_EQ(block.status().code(), Code::kResourceExhausted);
      break;
    }
    blocks.push_back(*block);
    ASSERT_LT(blocks.size(), 100u);
  }
  EXPECT_GE(blocks.size(), 14u) << "less than a slab is left over";
  EXPECT_LE(slabs_.size_bytes(), 16u << 20);
  for (const Block* block : blocks) release(block);
  EXPECT_NE(allocate(900 << 10), nullptr);
  EXPECT_EQ(allocator_.allocate(UINT64_MAX).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(allocator_.allocate(64 << 20).status().code(), Code::kResourceExhausted);
}

TEST_F(BlockAllocatorTest, AWorkerThatTakesNoMemoryIsUnavailable) {
  takes_ = false;
  EXPECT_EQ(allocator_.allocate(1).status().code(), Code::kUnavailable);
}

TEST_F(BlockAllocatorTest, PiecesAreJoinedAgain) {
  std::vector<const Block*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(100'000));
  for (int i : {3, 1, 2, 9, 0, 5, 7, 8, 6, 4}) release(blocks[static_cast<size_t>(i)]);
  EXPECT_NE(allocate(1'000'000), nullptr);
  EXPECT_EQ(sent_.size(), 1u);
}

TEST_F(BlockAllocatorTest, TrimmedMemoryIsZerosAgain) {
  const Block* block = allocate(900 << 10);
  std::memset(block->payload, 1, 900 << 10);
  std::byte* payload = block->payload;
  release(block);
  allocator_.trim(64 << 10);
  EXPECT_EQ(payload[0], std::byte{1}) << "what is kept";
  EXPECT_EQ(payload[800 << 10], std::byte{0});
  EXPECT_EQ(allocator_.used_bytes(), 0u);
}

TEST_F(BlockAllocatorTest, BlocksInUseNeverOverlap) {
  test::Random random(7);
  std::vector<const Block*> blocks;
  for (int i = 0; i < 20'000; ++i) {
    if (blocks.size() < 40 && random.chance(55)) {
      const Block* block = allocate(random.below(1 << 14));
      std::memset(block->payload, static_cast<int>(block->offset / 64 % 251), block->size_bytes);
      blocks.push_back(block);
    } else if (!blocks.empty()) {
      const size_t at = random.below(blocks.size());
      const Block* block = blocks[at];
      const auto expected = static_cast<std::byte>(block->offset / 64 % 251);
      for (uint64_t k = 0; k < block->size_bytes; ++k) ASSERT_EQ(block->payload[k], expected);
      release(block);
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(at));
    }
  }
}

}  // namespace
}  // namespace atl::python
