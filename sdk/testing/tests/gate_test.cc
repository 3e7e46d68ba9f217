#include "atoll/core/gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace atl {
namespace {

void count_call(void* context) { ++*static_cast<std::atomic<int>*>(context); }

TEST(Gate, CountsWhoIsInside) {
  Gate gate;
  EXPECT_TRUE(gate.enter());
  EXPECT_TRUE(gate.enter());
  EXPECT_EQ(gate.count(), 2);
  gate.leave();
  gate.leave();
  EXPECT_EQ(gate.count(), 0);
}

TEST(Gate, ClosedGateLetsNobodyIn) {
  Gate gate;
  gate.close();
  EXPECT_FALSE(gate.enter());
  EXPECT_EQ(gate.count(), 0);
  gate.open();
  EXPECT_TRUE(gate.enter());
  gate.leave();
}

TEST(Gate, TellsWhenTheLastOneLeft) {
  std::atomic<int> calls{0};
  Gate gate(&count_call, &calls);
  ASSERT_TRUE(gate.enter());
  ASSERT_TRUE(gate.enter());
  gate.close();
  EXPECT_EQ(calls, 0);
  gate.leave();
  EXPECT_EQ(calls, 0);
  gate.leave();
  EXPECT_EQ(calls, 1);
}

TEST(Gate, ClosingAnEmptyGateTellsAtOnce) {
  std::atomic<int> calls{0};
  Gate gate(&count_call, &calls);
  gate.close();
  EXPECT_GE(calls, 1);
}

TEST(Gate, LeavingOnAnotherThreadBalances) {
  Gate gate;
  ASSERT_TRUE(gate.enter());
  std::thread([&] { gate.leave(); }).join();
  gate.close();
  EXPECT_EQ(gate.count(), 0);
}

TEST(Pass, LeavesWhenItGoes) {
  Gate gate;
  {
    Pass pass(gate);
    EXPECT_TRUE(pass);
    Pass moved = std::move(pass);
    EXPECT_FALSE(pass);  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(gate.count(), 1);
  }
  EXPECT_EQ(gate.count(), 0);
  gate.close();
  EXPECT_FALSE(Pass(gate));
}

TEST(Gate, NobodyIsInsideOnceClosedAndEmpty) {
  struct Guarded {
    std::atomic<bool> alive{true};
    std::atomic<bool> empty{false};
  } guarded;
  for (int round = 0; round < 50; ++round) {
    guarded.alive = true;
    guarded.empty = false;
    Gate gate([](void* context) { static_cast<Guarded*>(context)->empty = true; }, &guarded);
    std::atomic<uint32_t> inside_after_end{0}, entries{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (Pass pass{gate}) {
          ++entries;
          if (!guarded.alive) ++inside_after_end;
        }
      });
    }
    while (entries < 20) std::this_thread::yield();
    gate.close();
    while (!guarded.empty) std::this_thread::yield();
    guarded.alive = false;
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(inside_after_end, 0u);
    ASSERT_EQ(gate.count(), 0);
  }
}

}  // namespace
}  // namespace atl
