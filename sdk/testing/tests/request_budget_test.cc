#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "atoll/memory/request_memory.h"

namespace atl {
namespace {

TEST(RequestBudget, TheLimitItselfMayBeUsedAndNotAByteMore) {
  RequestBudget budget(1000, "the limit of this test");
  ASSERT_TRUE(budget.try_reserve(700));
  ASSERT_TRUE(budget.try_reserve(300));
  EXPECT_EQ(budget.used_bytes(), 1000u);
  EXPECT_FALSE(budget.try_reserve(1));
  const Status refused = budget.refusal(1);
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the request needs 1 more bytes of memory, 1000 bytes of the 1000 that all requests together may "
            "take are in use (the limit of this test); try again later");
  EXPECT_EQ(budget.used_bytes(), 1000u);
  EXPECT_EQ(budget.refused(), 1u);
  budget.release(1000);
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_EQ(budget.peak_bytes(), 1000u);
  EXPECT_TRUE(budget.try_reserve(1000));
}

TEST(RequestBudget, WhatCanNeverFitIsNotToldToTryAgain) {
  RequestBudget budget(1000, "the limit of this test");
  for (const uint64_t bytes : {uint64_t{1001}, UINT64_MAX}) {
    EXPECT_FALSE(budget.try_reserve(bytes));
    const Status refused = budget.refusal(bytes);
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.message().find("try again"), std::string::npos);
  }
}

TEST(RequestBudget, ACheckTakesNothing) {
  RequestBudget budget(1000, "the limit of this test");
  EXPECT_TRUE(budget.check(1000));
  EXPECT_EQ(budget.used_bytes(), 0u);
  ASSERT_TRUE(budget.try_reserve(1));
  EXPECT_FALSE(budget.check(1000));
  EXPECT_EQ(budget.refused(), 1u);
}

TEST(RequestBudget, WithoutALimitItCounts) {
  RequestBudget budget(0);
  EXPECT_TRUE(budget.try_reserve(uint64_t{1} << 50));
  EXPECT_TRUE(budget.check(UINT64_MAX));
  EXPECT_EQ(budget.used_bytes(), uint64_t{1} << 50);
}

TEST(RequestBudget, ManyThreadsNeverExceedIt) {
  constexpr uint64_t kLimit = 1000;
  constexpr int kThreads = 8;
  constexpr int kRounds = 20000;
  RequestBudget budget(kLimit);
  std::atomic<uint64_t> held{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, bytes = static_cast<uint64_t>(200 + i)] {
      for (int round = 0; round < kRounds; ++round) {
        if (!budget.try_reserve(bytes)) {
          ++refused;
          continue;
        }
        if (held.fetch_add(bytes) + bytes > kLimit) exceeded = true;
        held.fetch_sub(bytes);
        budget.release(bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_LE(budget.peak_bytes(), kLimit);
  EXPECT_EQ(budget.refused(), refused);
}

}  // namespace
}  // namespace atl
