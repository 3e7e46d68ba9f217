#include "placement/first_fit/first_fit.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "atoll/testing/conformance/placement.h"

namespace atl::placement {
namespace {

/// The number of the instance that a lease of 2 of 8 gets.
uint32_t chosen(const std::vector<PlacementCandidate>& candidates) {
  return candidates[FirstFit().choose({2, 8}, candidates)].instance;
}

TEST(FirstFit, TakesTheLowestNumber) {
  EXPECT_EQ(chosen({{0, 1, 3}, {1, 2, 2}, {2, 1, 5}}), 0u);
  EXPECT_EQ(chosen({{3, 0, 8}, {4, 2, 2}}), 3u);
}

}  // namespace
}  // namespace atl::placement

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(FirstFit, PlacementConformance,
                         ::testing::Values(PlacementProvider{
                             "first_fit", [] { return std::make_shared<placement::FirstFit>(); }, {}}));

}  // namespace
}  // namespace atl::test
