#include "request_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace atl::memory {
namespace {

TEST(RequestBudget, TheLimitItselfMayBeUsedAndNotAByteMore) {
  RequestBudget budget(1000);
  ASSERT_TRUE(budget.reserve(700).ok());
  ASSERT_TRUE(budget.reserve(300).ok());
  EXPECT_EQ(budget.used_bytes(), 1000u);
  const Status refused = budget.reserve(1);
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the request needs 1 more bytes of memory, 1000 bytes of the 1000 that all requests together may "
            "take are in use (option request_budget of memory/host); try again later");
  EXPECT_EQ(budget.used_bytes(), 1000u);
  EXPECT_EQ(budget.refused(), 1u);
  budget.release(1000);
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_TRUE(budget.reserve(1000).ok());
}

TEST(RequestBudget, WhatCanNeverFitIsNotToldToTryAgain) {
  RequestBudget budget(1000);
  for (const uint64_t bytes : {uint64_t{1001}, UINT64_MAX}) {
    const Status refused = budget.reserve(bytes);
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.message().find("try again"), std::string::npos);
  }
}

TEST(RequestBudget, ACheckTakesNothing) {
  RequestBudget budget(1000);
  EXPECT_TRUE(budget.check(1000).ok());
  EXPECT_EQ(budget.used_bytes(), 0u);
  ASSERT_TRUE(budget.reserve(1).ok());
  EXPECT_EQ(budget.check(1000).code(), Code::kResourceExhausted);
  EXPECT_EQ(budget.refused(), 1u);
}

TEST(RequestBudget, WithoutALimitItCounts) {
  RequestBudget budget(0);
  EXPECT_TRUE(budget.reserve(uint64_t{1} << 50).ok());
  EXPECT_TRUE(budget.check(UINT64_MAX).ok());
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
        if (!budget.reserve(bytes).ok()) {
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
  EXPECT_EQ(budget.refused(), refused);
}

}  // namespace
}  // namespace atl::memory
