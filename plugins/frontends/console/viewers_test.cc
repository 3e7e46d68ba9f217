#include "frontends/console/viewers.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::frontends::console {
namespace {

TEST(Viewers, SixteenPagesHavePlacesUntilTheyAreSilent) {
  Viewers viewers;
  for (size_t i = 0; i < Viewers::kMost; ++i) EXPECT_TRUE(viewers.admits(cat("page", i), 0));
  EXPECT_FALSE(viewers.admits("one more", 0));
  EXPECT_TRUE(viewers.admits("page3", 8 * kNsPerSecond)) << "it has its place";
  EXPECT_FALSE(viewers.admits("one more", 10 * kNsPerSecond));
  EXPECT_TRUE(viewers.admits("one more", 11 * kNsPerSecond)) << "all others have been silent for too long";
  for (size_t i = 0; i < Viewers::kMost - 2; ++i)
    EXPECT_TRUE(viewers.admits(cat("new", i), 11 * kNsPerSecond)) << i;
  EXPECT_FALSE(viewers.admits("page0", 11 * kNsPerSecond));
}

TEST(Viewers, AnIdIsCut) {
  Viewers viewers;
  for (size_t i = 0; i < 2 * Viewers::kMost; ++i)
    EXPECT_TRUE(viewers.admits(cat(std::string(64, 'x'), i), 0)) << "all are one";
}

}  // namespace
}  // namespace atl::frontends::console
