#include "frontends/console/process_facts.h"

#include <gtest/gtest.h>
#include <time.h>

namespace atl::frontends::console {
namespace {

int64_t wall_ms() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

TEST(ProcessFacts, TheStartIsBeforeNowAndStays) {
  const ProcessStart once = process_start(wall_ms());
  const ProcessStart again = process_start(wall_ms());
  EXPECT_EQ(once.run, again.run);
  EXPECT_NE(once.run.find('-'), std::string::npos) << once.run;
  EXPECT_GT(once.time_ms, 0);
  // Ticks are hundredths of a second.
  EXPECT_LE(once.time_ms, wall_ms() + 100);
  EXPECT_EQ(process_start(0).time_ms < 0, true);
}

TEST(ProcessFacts, WhatIsUsed) {
  EXPECT_GT(resident_bytes(), 100'000u);
  EXPECT_GE(cpu_seconds(), 0.0);
}

}  // namespace
}  // namespace atl::frontends::console
