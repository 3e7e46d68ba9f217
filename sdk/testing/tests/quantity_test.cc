#include "atoll/core/quantity.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(QuantityTest, Durations) {
  EXPECT_EQ(parse_duration_ns("7ns"), 7);
  EXPECT_EQ(parse_duration_ns("10us"), 10'000);
  EXPECT_EQ(parse_duration_ns("250ms"), 250'000'000);
  EXPECT_EQ(parse_duration_ns("30s"), 30'000'000'000);
  EXPECT_EQ(parse_duration_ns("5m"), 300'000'000'000);
  EXPECT_EQ(parse_duration_ns("1h"), 3'600'000'000'000);
  EXPECT_EQ(parse_duration_ns("0s"), 0);
  EXPECT_EQ(parse_duration_ns("9223372036854775807ns"), INT64_MAX);
  for (const char* text : {"", "s", "5", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5s", "5S", "5sec", "5d",
                           "9223372036854775808ns", "2562048h", "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration_ns(text), std::nullopt) << text;
  }
}

TEST(QuantityTest, Bytes) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("7B"), 7u);
  EXPECT_EQ(parse_bytes("4KiB"), 4096u);
  EXPECT_EQ(parse_bytes("64MiB"), 67'108'864u);
  EXPECT_EQ(parse_bytes("2GiB"), 2'147'483'648u);
  EXPECT_EQ(parse_bytes("1TiB"), 1'099'511'627'776u);
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
  for (const char* text :
       {"", "MiB", "-1", "1KB", "1kib", "1 KiB", "1.5GiB", "0x10", "18446744073709551616", "16777216TiB"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace atl
