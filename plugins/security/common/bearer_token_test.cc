#include "security/common/bearer_token.h"

#include <gtest/gtest.h>

namespace atl::security {
namespace {

TEST(BearerToken, IsBehindItsScheme) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bEARER   abc  "), "abc");
  EXPECT_EQ(bearer_token("Bearer a b"), "a b");
  for (const char* other : {"", "Bearer", "Bearer ", "Bearerabc", "Basic abc", "abc"})
    EXPECT_EQ(bearer_token(other), "") << other;
}

}  // namespace
}  // namespace atl::security
