#include "placement/spread/spread.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "atoll/testing/conformance/placement.h"

namespace atl::placement {
namespace {

/// The number of the instance that a lease of 2 of 8 gets.
uint32_t chosen(const std::vector<PlacementCandidate>& candidates) {
  return candidates[Spread().choose({2, 8}, candidates)].instance;
}

TEST(Spread, LeavesTheMostRoom) { EXPECT_EQ(chosen({{0, 1, 3}, {1, 2, 2}, {2, 1, 5}}), 2u); }

TEST(Spread, OfEqualOnesThatWithFewerLeasesThenTheLowestNumber) {
  EXPECT_EQ(chosen({{3, 2, 5}, {4, 1, 5}, {6, 1, 5}}), 4u);
  EXPECT_EQ(chosen({{3, 0, 8}, {4, 0, 8}}), 3u);
}

}  // namespace
}  // namespace atl::placement

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Spread, PlacementConformance,
                         ::testing::Values(PlacementProvider{
                             "spread", [] { return std::make_shared<placement::Spread>(); }, {}}));

}  // namespace
}  // namespace atl::test
