#include "models/catalog/states/version_state.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::models {
namespace {

TEST(VersionState, TheTable) {
  // One line for each state: those that may follow.
  const char* const kAllowed[] = {
      "unknown: loading",
      "loading: ready unloaded failed",
      "retrying: ready unloaded failed",
      "ready: unloading",
      "unloading: loading unloaded failed",
      "unloaded: loading unloaded failed",
      "failed: retrying unloaded failed",
  };
  for (uint32_t from = 0; from < std::size(kAllowed); ++from) {
    std::string line(version_state_name(VersionState{from}));
    line += ":";
    for (uint32_t to = 0; to < std::size(kAllowed); ++to) {
      if (may_follow(VersionState{from}, VersionState{to}))
        line += cat(" ", version_state_name(VersionState{to}));
    }
    EXPECT_EQ(line, kAllowed[from]);
  }
}

}  // namespace
}  // namespace atl::models
