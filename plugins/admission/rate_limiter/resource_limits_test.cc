#include "admission/rate_limiter/resource_limits.h"

#include <gtest/gtest.h>

namespace atl::admission {
namespace {

ResourceLimits parsed(const std::vector<std::string>& entries) {
  auto limits = ResourceLimits::parse(entries);
  EXPECT_TRUE(limits.ok()) << limits.status().text();
  return limits.ok() ? std::move(limits).value() : ResourceLimits();
}

TEST(ResourceLimits, TheExampleOfTwoDevices) {
  ResourceLimits limits = parsed({"R1:10", "R2:5:0", "R2:8:1", "R3:2"});
  EXPECT_TRUE(limits.given());
  EXPECT_EQ(limits.of_device("R1", 0), 10u);
  EXPECT_EQ(limits.of_device("R1", 1), 10u);
  EXPECT_EQ(limits.of_device("R2", 0), 5u);
  EXPECT_EQ(limits.of_device("R2", 1), 8u);
  EXPECT_EQ(limits.global("R3"), 2u);
}

TEST(ResourceLimits, WhatIsNotListedHasNone) {
  ResourceLimits limits = parsed({"R1:10:1"});
  EXPECT_EQ(limits.of_device("R1", 0), 0u);
  EXPECT_EQ(limits.of_device("r1", 1), 0u) << "names are matched as they are written";
  EXPECT_EQ(limits.of_device("R2", 1), 0u);
  EXPECT_EQ(limits.global("R2"), 0u);
}

TEST(ResourceLimits, ADeviceHasTheLargerOfItsOwnCountAndTheCommonOne) {
  ResourceLimits limits = parsed({"R1:4", "R1:7:1", "R1:2:2"});
  EXPECT_EQ(limits.of_device("R1", 0), 4u);
  EXPECT_EQ(limits.of_device("R1", 1), 7u);
  EXPECT_EQ(limits.of_device("R1", 2), 4u);
  EXPECT_EQ(limits.global("R1"), 7u) << "the device does not count for a global resource";
}

TEST(ResourceLimits, GivenTwiceTheSmallerCountHolds) {
  ResourceLimits limits = parsed({"R1:4", "R1:3", "R1:9:0", "R1:5:0", "R1:6:0"});
  EXPECT_EQ(limits.of_device("R1", 0), 5u);
  EXPECT_EQ(limits.of_device("R1", 1), 3u);
}

TEST(ResourceLimits, NothingGiven) { EXPECT_FALSE(parsed({}).given()); }

TEST(ResourceLimits, BadEntriesAreQuoted) {
  const std::pair<const char*, const char*> kBad[] = {
      {"R1",
       "'R1' is not a resource, expected '<resource_name>:<count>:<device>' or '<resource_name>:<count>'"},
      {"R1:1:2:3", "'R1:1:2:3' is not a resource, expected"},
      {":1", "':1' is not a resource, expected"},
      {"", "'' is not a resource, expected"},
      {"R1:x", "'R1:x' has the count 'x', expected a whole number from 0 to 4294967295"},
      {"R1:", "'R1:' has the count '', expected"},
      {"R1:-1", "has the count '-1', expected"},
      {"R1:4294967296", "has the count '4294967296', expected"},
      {"R1:1:gpu", "has the device 'gpu', expected a whole number from 0 to 2147483647"},
      {"R1:1:-1", "has the device '-1', expected"},
      {"R1:1:", "has the device '', expected"},
      {"R1:1:2147483648", "has the device '2147483648', expected"},
  };
  for (const auto& [entry, expected] : kBad) {
    auto limits = ResourceLimits::parse({"R0:1", entry});
    ASSERT_FALSE(limits.ok()) << entry;
    EXPECT_EQ(limits.status().code(), Code::kInvalidArgument);
    EXPECT_NE(limits.status().text().find(expected), std::string::npos) << limits.status().text();
  }
}

}  // namespace
}  // namespace atl::admission
