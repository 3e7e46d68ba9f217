#include "schedulers/dynamic/execution_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "atoll/testing/random.h"

namespace atl::schedulers {
namespace {

void add(ExecutionModel& model, uint32_t batch_size, int64_t duration_ns, int times) {
  for (int i = 0; i < times; ++i) model.add(batch_size, duration_ns);
}

TEST(ExecutionModel, IsKnownAfterAFewExecutions) {
  ExecutionModel model;
  EXPECT_EQ(model.estimate_ns(1), 0);
  EXPECT_EQ(model.average_ns(1), 0);
  EXPECT_EQ(model.only_size(), 0u);
  EXPECT_EQ(model.largest_size(), 0u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(model.known()) << i;
    model.add(2, 1'000);
  }
  EXPECT_TRUE(model.known());
}

TEST(ExecutionModel, OneSizeTellsLittleOfOthers) {
  ExecutionModel model;
  add(model, 8, 1'000'000, 20);
  EXPECT_EQ(model.only_size(), 8u);
  struct Row {
    uint32_t size;
    int64_t expected_ns;
  };
  for (Row row :
       {Row{1, 1'000'000}, Row{8, 1'000'000}, Row{16, 1'000'000}, Row{32, 2'000'000}, Row{160, 10'000'000}}) {
    EXPECT_EQ(model.estimate_ns(row.size), row.expected_ns) << row.size;
  }
}

TEST(ExecutionModel, TwoSizesMakeALine) {
  ExecutionModel model;
  for (int i = 0; i < 100; ++i) {
    model.add(2, 1'200'000);
    model.add(10, 2'000'000);
  }
  EXPECT_EQ(model.only_size(), 0u);
  EXPECT_EQ(model.largest_size(), 10u);
  for (uint32_t size : {1u, 2u, 5u, 10u, 64u}) {
    EXPECT_NEAR(static_cast<double>(model.average_ns(size)), 1e6 + 1e5 * size, 1e3) << size;
    EXPECT_NEAR(static_cast<double>(model.estimate_ns(size)), 1e6 + 1e5 * size, 1e3) << size;
  }
}

TEST(ExecutionModel, ASizeSeenLongAgoIsForgotten) {
  ExecutionModel model;
  add(model, 4, 1'000, 10);
  model.add(1, 1'000);
  EXPECT_EQ(model.only_size(), 0u);
  add(model, 4, 1'000, 1'000);
  EXPECT_EQ(model.only_size(), 4u);
  EXPECT_EQ(model.largest_size(), 4u);
}

TEST(ExecutionModel, TheMarginCoversMostExecutions) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    test::Random random(seed);
    ExecutionModel model;
    int longer = 0;
    for (int i = 0; i < 2'000; ++i) {
      auto size = static_cast<uint32_t>(random.between(1, 16));
      int64_t duration_ns = (1'000 + 100 * size) * random.between(80, 120);
      longer += i >= 100 && duration_ns > model.estimate_ns(size);
      model.add(size, duration_ns);
    }
    EXPECT_LT(longer, 150) << seed;
    EXPECT_GT(longer, 0) << "without an excess of caution";
    EXPECT_NEAR(static_cast<double>(model.average_ns(8)), 180'000.0, 15'000.0) << seed;
  }
}

TEST(ExecutionModel, FollowsAChange) {
  for (int64_t after_ns : {100'000, 10'000'000, 100'000'000}) {
    ExecutionModel model;
    for (int i = 0; i < 100; ++i) model.add(1 + i % 4, 1'000'000);
    for (int i = 0; i < 250; ++i) model.add(1 + i % 4, after_ns);
    double estimate_ns = static_cast<double>(model.estimate_ns(2));
    EXPECT_NEAR(estimate_ns, static_cast<double>(after_ns), 0.2 * static_cast<double>(after_ns));
  }
}

TEST(ExecutionModel, OneInterruptedExecutionChangesLittle) {
  ExecutionModel model;
  for (int i = 0; i < 100; ++i) model.add(1 + i % 4, 1'000'000);
  model.add(3, 500'000'000);
  EXPECT_LT(model.estimate_ns(2), 1'300'000);
  model.add(3, 500'000'000);
  EXPECT_GT(model.estimate_ns(2), 5'000'000) << "the second one in a row is no accident";
}

TEST(ExecutionModel, EstimatesDoNotFallWithTheSizeNorRiseFasterThanIt) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    test::Random random(seed);
    ExecutionModel model;
    for (int i = 0; i < 60; ++i) {
      // No sense in it at all.
      model.add(static_cast<uint32_t>(random.between(1, 40)), random.between(0, 1'000'000));
      int64_t before_ns = 0;
      for (uint32_t size : {1u, 2u, 3u, 20u, 40u, 41u, 1'000u}) {
        ASSERT_GE(model.average_ns(size), before_ns) << "seed " << seed << " size " << size;
        before_ns = model.average_ns(size);
        ASSERT_LE(model.average_ns(2 * size), 2 * before_ns + 2) << "seed " << seed << " size " << size;
        ASSERT_GE(model.estimate_ns(size), before_ns);
      }
    }
  }
}

TEST(ExecutionModel, ExtremesAreBounded) {
  constexpr int64_t kMost = 1'000'000'000'000'000'000;
  const std::initializer_list<int64_t> durations = {INT64_MIN, -1, 0, 1, kMost, INT64_MAX};
  const std::initializer_list<uint32_t> sizes = {0, 1, 2, UINT32_MAX - 1, UINT32_MAX};
  auto expect_sound = [&](const ExecutionModel& model) {
    for (uint32_t size : sizes) {
      EXPECT_GE(model.estimate_ns(size), 0);
      EXPECT_LE(model.estimate_ns(size), kMost);
      EXPECT_GE(model.average_ns(size), 0);
      EXPECT_LE(model.average_ns(size), kMost);
    }
  };
  for (int64_t first_ns : durations) {
    for (int64_t second_ns : durations) {
      for (uint32_t first : sizes) {
        for (uint32_t second : sizes) {
          ExecutionModel model;
          for (int i = 0; i < 12; ++i) i % 3 == 0 ? model.add(first, first_ns) : model.add(second, second_ns);
          expect_sound(model);
        }
      }
    }
  }
}

TEST(ExecutionModel, RecoversFromExtremes) {
  for (int64_t extreme_ns : {INT64_MIN, int64_t{0}, INT64_MAX}) {
    ExecutionModel model;
    for (int i = 0; i < 10; ++i) model.add(i % 2 == 0 ? UINT32_MAX : 1, extreme_ns);
    for (int i = 0; i < 3'000; ++i) model.add(1 + i % 2, 1'000'000);
    EXPECT_NEAR(static_cast<double>(model.estimate_ns(1)), 1e6, 1e5) << extreme_ns;
  }
}

}  // namespace
}  // namespace atl::schedulers
