#include "atoll/request/arena.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace atl {
namespace {

TEST(Arena, KeepsAlignment) {
  Arena arena(256);
  for (size_t alignment : {1, 2, 8, 16, 64, 4096}) {
    (void)arena.allocate(1, 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.allocate(10, alignment)) % alignment, 0u);
  }
}

TEST(Arena, GrowsBeyondTheFirstBlockAndNothingOverlaps) {
  Arena arena(128);
  std::vector<std::span<uint32_t>> parts;
  for (uint32_t i = 1; i < 100; ++i) {
    parts.emplace_back(arena.make_array<uint32_t>(i), i);
    for (uint32_t& value : parts.back()) value = i;
  }
  for (uint32_t i = 1; i < 100; ++i) {
    for (uint32_t value : parts[i - 1]) ASSERT_EQ(value, i);
  }
}

TEST(Arena, ResetReusesTheFirstBlock) {
  Arena arena(1024);
  void* first = arena.allocate(16);
  arena.reset();
  EXPECT_EQ(arena.allocate(16), first);
  (void)arena.allocate(100'000);
  arena.reset();
  EXPECT_EQ(arena.allocate(16), first) << "the large block went, the first stayed";
}

TEST(Arena, ResetAfterOnlyLargeBlocks) {
  Arena arena(64);
  (void)arena.allocate(10'000);
  arena.reset();
  auto* again = static_cast<char*>(arena.allocate(10'000));
  std::memset(again, 1, 10'000);
}

TEST(Arena, ResetOfAnUnusedOneIsFine) {
  Arena arena;
  arena.reset();
  EXPECT_EQ(arena.make_array<int>(0), nullptr);
}

TEST(Arena, CopiesAreTerminatedTexts) {
  Arena arena;
  std::string source = "name";
  std::string_view copy = arena.copy_text(source);
  source = "gone";
  EXPECT_EQ(copy, "name");
  EXPECT_EQ(copy.data()[copy.size()], '\0');
  EXPECT_EQ(arena.copy_text("").data()[0], '\0');
}

TEST(Arena, CopiesSpans) {
  Arena arena;
  const std::vector<int64_t> shape{1, -1, 3};
  std::span<int64_t> copy = arena.copy(std::span<const int64_t>(shape));
  EXPECT_EQ(std::vector<int64_t>(copy.begin(), copy.end()), shape);
  EXPECT_TRUE(arena.copy(std::span<const int64_t>()).empty());
}

TEST(ArenaList, GrowsAndKeepsItsItems) {
  Arena arena(64);
  ArenaList<uint64_t> list;
  EXPECT_TRUE(list.empty());
  for (uint64_t i = 0; i < 100; ++i) list.add(arena) = i;
  ASSERT_EQ(list.size(), 100u);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(list[i], i);
  list.truncate(200);
  EXPECT_EQ(list.size(), 100u);
  list.truncate(10);
  EXPECT_EQ(list.span().size(), 10u);
  EXPECT_EQ(list.add(arena), 0u) << "a new item is fresh, not the one that was cut off";
  list.clear();
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace atl
