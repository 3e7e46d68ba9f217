#include "memory/pinned/slab.h"

#include <gtest/gtest.h>

#include <vector>

#include "atoll/testing/random.h"

namespace atl::memory {
namespace {

TEST(Slab, BlocksAreWholeLines) {
  Slab slab(1000);
  EXPECT_EQ(slab.total_bytes(), 960u);
  EXPECT_EQ(slab.take(0), 0u);
  EXPECT_EQ(slab.take(1), 64u);
  EXPECT_EQ(slab.take(65), 128u);
  EXPECT_EQ(slab.used_bytes(), 256u);
}

TEST(Slab, GivesAllOfItAndNoMore) {
  Slab slab(640);
  EXPECT_FALSE(slab.take(641));
  EXPECT_FALSE(slab.take(UINT64_MAX));
  EXPECT_EQ(slab.take(640), 0u);
  EXPECT_FALSE(slab.take(0));
  slab.give_back(0, 640);
  EXPECT_EQ(slab.used_bytes(), 0u);
  EXPECT_EQ(slab.take(640), 0u);
}

TEST(Slab, ThereMayBeNothingInIt) {
  Slab slab(63);
  EXPECT_EQ(slab.total_bytes(), 0u);
  EXPECT_FALSE(slab.take(0));
}

TEST(Slab, TakesTheSmallestPieceThatWillDo) {
  Slab slab(64 * 10);
  ASSERT_EQ(slab.take(64 * 3), 0u);
  ASSERT_EQ(slab.take(64), 192u);
  ASSERT_EQ(slab.take(64), 256u);
  ASSERT_EQ(slab.take(64), 320u);
  slab.give_back(0, 64 * 3);
  slab.give_back(256, 64);
  EXPECT_EQ(slab.take(64), 256u);
  EXPECT_EQ(slab.take(64 * 2), 0u);
}

TEST(Slab, NeighboursAreOnePieceAgain) {
  constexpr uint64_t kBlocks = 50;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    test::Random random(seed);
    Slab slab(kBlocks * 64);
    std::vector<std::pair<uint64_t, uint64_t>> held;
    std::vector<bool> taken(kBlocks);
    for (int step = 0; step < 200; ++step) {
      const uint64_t bytes = random.below(64 * 6);
      if (const auto offset = random.chance(60) ? slab.take(bytes) : std::nullopt) {
        for (uint64_t at = *offset / 64; at < (*offset + Slab::block_bytes(bytes)) / 64; ++at) {
          ASSERT_FALSE(taken[at]) << "given twice";
          taken[at] = true;
        }
        held.emplace_back(*offset, bytes);
      } else if (!held.empty()) {
        const size_t index = random.below(held.size());
        const auto [freed, size] = held[index];
        for (uint64_t at = freed / 64; at < (freed + Slab::block_bytes(size)) / 64; ++at) taken[at] = false;
        slab.give_back(freed, size);
        held.erase(held.begin() + static_cast<ptrdiff_t>(index));
      }
    }
    for (const auto& [offset, bytes] : held) slab.give_back(offset, bytes);
    EXPECT_EQ(slab.used_bytes(), 0u);
    EXPECT_EQ(slab.take(kBlocks * 64), 0u) << seed;
  }
}

}  // namespace
}  // namespace atl::memory
