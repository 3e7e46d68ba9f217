#include "atoll/lib/rfc3339.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Rfc3339, WritesTheDigitsThatAreAskedFor) {
  EXPECT_EQ(write_rfc3339(0, SecondDigits::kMilliseconds), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(write_rfc3339(-1, SecondDigits::kMicroseconds), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(write_rfc3339(1'763'921'100'003'999'999, SecondDigits::kMilliseconds),
            "2025-11-23T18:05:00.003Z");
  EXPECT_EQ(write_rfc3339(1'763'921'100'003'999'999, SecondDigits::kMicroseconds),
            "2025-11-23T18:05:00.003999Z");
  EXPECT_EQ(write_rfc3339(INT64_MAX, SecondDigits::kMilliseconds), "2262-04-11T23:47:16.854Z");
}

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
