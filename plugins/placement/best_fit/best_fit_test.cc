#include "placement/best_fit/best_fit.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "atoll/testing/conformance/placement.h"

namespace atl::placement {
namespace {

/// The number of the instance that a lease of 2 of 8 gets.
uint32_t chosen(const std::vector<PlacementCandidate>& candidates) {
  return candidates[BestFit().choose({2, 8}, candidates)].instance;
}

TEST(BestFit, LeavesTheLeastRoom) {
  EXPECT_EQ(chosen({{0, 1, 3}, {1, 2, 2}, {2, 1, 5}}), 1u);
  EXPECT_EQ(chosen({{0, 1, 8}, {1, 2, 7}, {2, 1, 8}}), 1u);
}

TEST(BestFit, OfEqualOnesTheLowestNumber) {
  EXPECT_EQ(chosen({{3, 1, 5}, {4, 2, 4}, {6, 1, 4}}), 4u);
  EXPECT_EQ(chosen({{3, 0, 8}, {4, 0, 8}}), 3u);
}

}  // namespace
}  // namespace atl::placement

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(BestFit, PlacementConformance,
                         ::testing::Values(PlacementProvider{
                             "best_fit", [] { return std::make_shared<placement::BestFit>(); }, {}}));

}  // namespace
}  // namespace atl::test
