#include "admission/deadlines/ordered_blocks.h"

#include <gtest/gtest.h>

#include <map>

#include "atoll/testing/random.h"

namespace atl::deadlines {
namespace {

struct Numbered {
  struct Summary {
    int64_t sum = 0;
    static Summary of(const std::vector<Numbered>& entries) {
      Summary summary;
      for (const Numbered& entry : entries) summary.sum += entry.value;
      return summary;
    }
  };
  uint64_t key;
  int64_t value;
};

using Blocks = OrderedBlocks<Numbered>;

void expect_same(const Blocks& blocks, const std::map<uint64_t, int64_t>& expected) {
  auto next = expected.begin();
  for (const Blocks::Block& block : blocks.blocks()) {
    ASSERT_FALSE(block.entries.empty());
    ASSERT_LE(block.entries.size(), Blocks::kBlockMax);
    int64_t sum = 0;
    for (const Numbered& entry : block.entries) {
      ASSERT_NE(next, expected.end());
      ASSERT_EQ(entry.key, next->first);
      ASSERT_EQ(entry.value, next->second);
      sum += entry.value;
      ++next;
    }
    ASSERT_EQ(block.summary.sum, sum);
  }
  ASSERT_EQ(next, expected.end());
}

TEST(OrderedBlocks, AreInOrderWhateverComesAndGoes) {
  test::Random random(1);
  Blocks blocks;
  std::map<uint64_t, int64_t> expected;
  for (int i = 0; i < 6'000; ++i) {
    // They become more, and then fewer.
    const uint64_t key = random.below(2'000);
    const bool grows = i < 3'000;
    const auto value = static_cast<int64_t>(random.below(1'000));
    if (!expected.contains(key)) {
      if (!grows && random.chance(90)) continue;
      blocks.insert({key, value});
      expected[key] = value;
    } else if (random.chance(grows ? 30 : 80)) {
      blocks.erase(key);
      expected.erase(key);
    } else {
      blocks.replace({key, value});
      expected[key] = value;
    }
    if (i % 50 == 0) expect_same(blocks, expected);
  }
  expect_same(blocks, expected);
}

TEST(OrderedBlocks, HaveFewBlocksAfterMostHaveGone) {
  Blocks blocks;
  for (uint64_t key = 0; key < 10'000; ++key) blocks.insert({key, 1});
  for (uint64_t key = 0; key < 10'000; ++key) {
    if (key % 100 != 0) blocks.erase(key);
  }
  EXPECT_LE(blocks.blocks().size(), 10'000 / 100 / (Blocks::kBlockMax / 8));
}

}  // namespace
}  // namespace atl::deadlines
