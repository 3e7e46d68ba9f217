// Token bucket, delay monitor and the table of tenants.
#include <gtest/gtest.h>

#include "admission/quotas/testing/control_bench.h"

namespace atl::quotas {
namespace {

constexpr int64_t kStart = kNsPerSecond;

TEST(TokenBucket, ABurstThenTheRate) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take(kStart), 0);
  EXPECT_EQ(bucket.take(kStart), 100 * kNsPerMs);
  EXPECT_EQ(bucket.take(kStart + 40 * kNsPerMs), 60 * kNsPerMs);
  EXPECT_EQ(bucket.take(kStart + 100 * kNsPerMs), 0);
  EXPECT_GT(bucket.take(kStart + 100 * kNsPerMs), 0);
  bucket.give_back();
  EXPECT_EQ(bucket.take(kStart + 100 * kNsPerMs), 0);
  EXPECT_FALSE(bucket.full(kStart + 200 * kNsPerMs));
  EXPECT_TRUE(bucket.full(kStart + kNsPerSecond));
}

TEST(TokenBucket, NeverGivesMoreThanRateAndBurst) {
  TokenBucket bucket(1e6, 50);
  uint64_t taken = 0;
  for (int64_t now = kStart; now < kStart + kNsPerSecond / 10; now += 137) taken += bucket.take(now) == 0;
  EXPECT_LE(taken, 100'050U);
  EXPECT_GE(taken, 100'048U);
}

TEST(TokenBucket, WhatIsChargedMayBeADebt) {
  TokenBucket bucket(10, 30);
  EXPECT_EQ(bucket.debt_ns(kStart), 0);
  bucket.charge(30, kStart);
  EXPECT_EQ(bucket.debt_ns(kStart), 0) << "used up, and nothing owed";
  bucket.charge(5, kStart);
  EXPECT_EQ(bucket.debt_ns(kStart), 500 * kNsPerMs);
  EXPECT_EQ(bucket.debt_ns(kStart + 100 * kNsPerMs), 400 * kNsPerMs);
  EXPECT_EQ(bucket.debt_ns(kStart + 500 * kNsPerMs), 0);
  EXPECT_FALSE(bucket.full(kStart + 3 * kNsPerSecond));
  EXPECT_TRUE(bucket.full(kStart + 3 * kNsPerSecond + 500 * kNsPerMs));
  bucket.charge(1e18, kStart + 4 * kNsPerSecond);
  EXPECT_GT(bucket.debt_ns(kStart + 4 * kNsPerSecond), 1'000'000 * kNsPerSecond) << "no number overflows";
}

TEST(TokenBucket, ADebtOutlivesOtherLimits) {
  TokenBucket bucket(10, 10);
  bucket.charge(20, kStart);
  bucket.follow(100, 100);
  EXPECT_EQ(bucket.debt_ns(kStart), kNsPerSecond);
  bucket.follow(0, 0);
  EXPECT_EQ(bucket.debt_ns(kStart), 0);
}

TEST(TokenBucket, WithoutARateThereIsNoEnd) {
  TokenBucket bucket(0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.take(kStart), 0);
  EXPECT_TRUE(bucket.full(kStart));
}

TEST(DelayMonitor, ADelayThatStaysOverTheTargetIsOverload) {
  DelayMonitor monitor(10 * kNsPerMs, 100 * kNsPerMs);
  int64_t now = kStart;
  for (int i = 0; i < 10; ++i, now += 10 * kNsPerMs) monitor.observe(now, 20 * kNsPerMs);
  EXPECT_FALSE(monitor.overloaded());
  monitor.observe(now, 20 * kNsPerMs);
  EXPECT_TRUE(monitor.overloaded());
  monitor.observe(now, 9 * kNsPerMs);
  EXPECT_TRUE(monitor.overloaded()) << "not far enough below";
  monitor.observe(now, 4 * kNsPerMs);
  EXPECT_FALSE(monitor.overloaded());
}

TEST(DelayMonitor, ABurstIsNoOverload) {
  DelayMonitor monitor(10 * kNsPerMs, 100 * kNsPerMs);
  for (int64_t now = kStart; now < kStart + kNsPerSecond; now += 10 * kNsPerMs) {
    monitor.observe(now, now % (90 * kNsPerMs) == 0 ? 9 * kNsPerMs : kNsPerSecond);
    EXPECT_FALSE(monitor.overloaded());
  }
}

TEST(TenantTable, UnknownNamesShareOneTenant) {
  TenantTable table(settings_with({"a:weight=3"}, "weight=2").tenants);
  Tenant& shared = table.find("", kStart);
  EXPECT_EQ(shared.name, "default");
  EXPECT_EQ(shared.quota.weight, 2U);
  EXPECT_EQ(&table.find("x", kStart), &shared);
  EXPECT_EQ(&table.find("default", kStart), &shared);
  EXPECT_EQ(table.find("a", kStart).quota.weight, 3U);
  EXPECT_EQ(table.size(), 1U);
}

TEST(TenantTable, UnknownNamesApartAreBounded) {
  TenantSettings settings = settings_with({"a:"}).tenants;
  settings.others_apart = true;
  settings.max_others = 100;
  TenantTable table(settings);
  Tenant& shared = table.find("", kStart);
  EXPECT_NE(&table.find("x", kStart), &shared);
  for (int i = 0; i < 100'000; ++i) {
    EXPECT_EQ(table.find(cat("name-", i), kStart).name, cat("name-", i));
  }
  EXPECT_EQ(table.size(), 101U);
  for (std::string_view hostile :
       {std::string_view("a b"), std::string_view("\xFF"), std::string_view("x\0y", 3)}) {
    EXPECT_EQ(&table.find(hostile, kStart), &shared);
  }
  EXPECT_EQ(&table.find(std::string(65, 'x'), kStart), &shared);
  EXPECT_EQ(table.counts().size(), 3U) << "labels: a, default, other";
}

TEST(TenantTable, OnlyWhoeverHasNothingIsForgotten) {
  TenantSettings settings = settings_with({}, "rate=1/s,burst=1").tenants;
  settings.others_apart = true;
  settings.max_others = 2;
  TenantTable table(settings);
  Tenant& busy = table.find("busy", kStart);
  busy.running = 1;
  Tenant& limited = table.find("limited", kStart);
  EXPECT_EQ(limited.bucket.take(kStart), 0);
  EXPECT_EQ(table.find("third", kStart).name, "default") << "nobody may be forgotten";
  EXPECT_EQ(table.find("third", kStart + kNsPerSecond).name, "third")
      << "the rate of one is not in use any more";
  EXPECT_EQ(&table.find("busy", kStart), &busy);
}

TEST(TenantTable, TheOneThatWasAwayTheLongestIsForgotten) {
  TenantSettings settings = settings_with({}).tenants;
  settings.others_apart = true;
  settings.max_others = 2;
  TenantTable table(settings);
  Tenant& first = table.find("first", kStart);
  first.tag = 7;
  table.find("second", kStart);
  table.find("first", kStart);
  table.find("third", kStart);  // in place of the second
  EXPECT_EQ(table.find("first", kStart).tag, 7);
}

TEST(TenantTable, TheQuotasBesideTheCountsFollow) {
  TenantTable table(settings_with({"a:weight=3", "b:weight=4"}, "weight=2").tenants);
  const auto weights = [&] {
    std::string text;
    for (const TenantCounts& counts : table.counts())
      text += cat(counts.label, "=", counts.quota.weight, " ");
    return text;
  };
  EXPECT_EQ(weights(), "a=3 b=4 default=2 ");
  table.follow(settings_with({"a:weight=5"}, "weight=7").tenants);
  EXPECT_EQ(weights(), "a=5 b=7 default=7 ") << "b is one of the others";
}

}  // namespace
}  // namespace atl::quotas
