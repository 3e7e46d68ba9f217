#include "backend/cell_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace atl::triton {
namespace {

struct TestCell {
  TestCell* next_free = nullptr;
  uint32_t shard = 0;
};
using TestPool = CellPool<TestCell>;

constinit TestPool delayed, shared;

TEST(CellPool, ReusesACellAfterManyOthers) {
  TestCell& first = delayed.take();
  delayed.give_back(first);
  std::set<TestCell*> seen{&first};
  for (uint32_t i = 0; i < TestPool::kDelay; ++i) {
    TestCell& cell = delayed.take();
    EXPECT_TRUE(seen.insert(&cell).second) << i;
    delayed.give_back(cell);
  }
  EXPECT_EQ(&delayed.take(), &first);
}

// A thread that only takes and one that only gives back: the number of cells stays what it is.
TEST(CellPool, CellsGoBackToWhereTheyAreFrom) {
  std::set<TestCell*> seen;
  for (int round = 0; round < 20; ++round) {
    std::vector<TestCell*> taken;
    for (int i = 0; i < 500; ++i) taken.push_back(&shared.take());
    seen.insert(taken.begin(), taken.end());
    std::thread([&] {
      for (TestCell* cell : taken) shared.give_back(*cell);
    }).join();
  }
  EXPECT_LE(seen.size(), TestPool::kDelay + 500u);
}

}  // namespace
}  // namespace atl::triton
