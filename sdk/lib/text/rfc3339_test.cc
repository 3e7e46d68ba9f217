#include "atoll/lib/rfc3339.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Rfc3339, TimesOfAllZones) {
  EXPECT_EQ(read_rfc3339("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(read_rfc3339("2024-02-29T12:00:00Z"), 1'709'208'000);
  EXPECT_EQ(read_rfc3339("2024-02-29T12:00:00.123456789z"), 1'709'208'000);
  EXPECT_EQ(read_rfc3339("2024-02-29T14:30:00+02:30"), 1'709'208'000);
  EXPECT_EQ(read_rfc3339("2024-02-29T04:00:00-08:00"), 1'709'208'000);
}

TEST(Rfc3339, WhatIsNoTimeIsNone) {
  for (const char* text : {"", "2024", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
                           "2024-01-01T00:00:00", "2024-01-01T00:00:00Zx", "2024-01-01T00:00:00.",
                           "2024-01-01T00:00:00+1:00", "-024-01-01T00:00:00Z"})
    EXPECT_FALSE(read_rfc3339(text)) << text;
}

}  // namespace
}  // namespace atl
