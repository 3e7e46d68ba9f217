/// How soon a change of the file of keys counts.
#include "security/keys/token_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "atoll/testing/call_head.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::keys {
namespace {

class TokenSourceTest : public ::testing::Test {
 protected:
  /// Of the 2 s that docs/security.md promises; the other one is the frontends' (frontends/common/access/caller_look.h).
  static constexpr int64_t kMostNs = kNsPerSecond;
  static constexpr std::string_view kToken = "atk_ci_0123456789abcdef0123456789abcdef";
  static constexpr std::string_view kDigest =
      "22d236520c7603a305edf08bc9c6b6b685e07b9aa230a30cf5a32cc22acd3071";  // by sha256sum

  TokenSourceTest() {
    write("inference");
    plugin_.set("keys_file", path());
    const Status status = plugin_.create_and_start();
    EXPECT_TRUE(status.ok()) << status.text();
  }
  std::string path() const { return (folder_.path() / "keys").string(); }
  /// In one step, as atollctl does. \param permissions  empty: there is another key only
  void write(std::string_view permissions) const {
    std::ofstream(path() + ".new") << (permissions.empty() ? cat("other:", kDigest, ":*\n")
                                                           : cat("ci:", kDigest, ":", permissions, "\n"));
    ASSERT_EQ(::chmod((path() + ".new").c_str(), 0600), 0);
    std::filesystem::rename(path() + ".new", path());
  }
  std::shared_ptr<const Identity> caller() {
    const test::TestCallHead head({{"authorization", cat("Bearer ", kToken)}});
    std::shared_ptr<const Identity> found;
    const auto outcome = plugin_.query<Access>()->identify(
        {ApiCategory::kInference, "inference", CallProtocol::kGrpc, head}, &found);
    EXPECT_EQ(outcome.ok(), found != nullptr);
    return found;
  }
  bool may(ApiCategory category) {
    const auto found = caller();
    return found != nullptr && found->may(category, api_category_name(category), "m");
  }

  const test::TemporaryDirectory folder_;
  test::FakeHost host_;
  test::PluginRunner plugin_{host_};
};

TEST_F(TokenSourceTest, WhatAKeyMayDoEndsWithinASecondOfTheChangeWhenEverThatComes) {
  constexpr int64_t kStepNs = 50 * kNsPerMs;
  for (int64_t phase_ns = 0; phase_ns < kMostNs; phase_ns += kStepNs) {
    host_.run_for(phase_ns);
    const auto before = caller();
    ASSERT_NE(before, nullptr);
    EXPECT_TRUE(before->holds());
    write(phase_ns % (2 * kStepNs) == 0 ? "metadata" : "inference");
    host_.run_for(kMostNs);
    EXPECT_FALSE(before->holds()) << "changed at " << phase_ns;
    EXPECT_EQ(may(ApiCategory::kInference), phase_ns % (2 * kStepNs) != 0);
  }
}

TEST_F(TokenSourceTest, AKeyThatIsTakenOutIsNobodysWithinASecond) {
  const auto before = caller();
  ASSERT_NE(before, nullptr);
  host_.run_for(10 * kMostNs);
  EXPECT_TRUE(before->holds()) << "nothing has changed";
  write("");
  EXPECT_TRUE(before->holds()) << "nobody has looked";
  host_.run_for(kMostNs);
  EXPECT_FALSE(before->holds());
  EXPECT_EQ(caller(), nullptr);
}

}  // namespace
}  // namespace atl::keys
