#include "atoll/runtime/plugin_states.h"

#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

using enum InstanceState;

TEST(MayFollow, TheWholeLifeAndNoStepSkipped) {
  constexpr InstanceState kLife[] = {kDeclared, kResolved, kLoaded,    kCreated, kActive,
                                     kDraining, kStopped,  kDestroyed, kUnloaded};
  for (size_t i = 0; i + 1 < std::size(kLife); ++i) EXPECT_TRUE(may_follow(kLife[i], kLife[i + 1])) << i;
  EXPECT_FALSE(may_follow(kLoaded, kActive));
  EXPECT_FALSE(may_follow(kActive, kStopped));
  EXPECT_FALSE(may_follow(kActive, kUnloaded));
  EXPECT_FALSE(may_follow(kDraining, kActive));
}

TEST(MayFollow, WhatFailsStaysFailed) {
  for (InstanceState from : {kDeclared, kResolved, kLoaded, kCreated}) EXPECT_TRUE(may_follow(from, kFailed));
  for (uint32_t to = 0; to <= static_cast<uint32_t>(kFailed); ++to) {
    EXPECT_FALSE(may_follow(kFailed, static_cast<InstanceState>(to))) << to;
  }
}

TEST(MayFollow, WhatWasNotStartedIsNotStopped) {
  EXPECT_TRUE(may_follow(kCreated, kDestroyed));
  EXPECT_TRUE(may_follow(kLoaded, kUnloaded));
  EXPECT_FALSE(may_follow(kCreated, kDraining));
}

}  // namespace
}  // namespace atl::runtime
