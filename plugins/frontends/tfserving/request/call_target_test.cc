#include "frontends/tfserving/request/call_target.h"

#include <gtest/gtest.h>

namespace atl::frontends::tfserving {
namespace {

void expect_target(std::string_view rest, bool is_post, const CallTarget& expected) {
  const auto target = read_target(rest, is_post);
  ASSERT_TRUE(target) << rest;
  EXPECT_EQ(target->action, expected.action) << rest;
  EXPECT_EQ(target->model, expected.model) << rest;
  EXPECT_EQ(target->version, expected.version) << rest;
  EXPECT_EQ(target->label, expected.label) << rest;
}

TEST(CallTargetTest, NamesWhatThePathSays) {
  expect_target("m", false, {RestAction::kStatus, "m", "", ""});
  expect_target("org/m", false, {RestAction::kStatus, "org/m", "", ""});
  expect_target("m/versions/7", false, {RestAction::kStatus, "m", "7", ""});
  expect_target("m/labels/new", false, {RestAction::kStatus, "m", "", "new"});
  expect_target("m/metadata", false, {RestAction::kMetadata, "m", "", ""});
  expect_target("m/versions/7/metadata", false, {RestAction::kMetadata, "m", "7", ""});
  expect_target("m:predict", true, {RestAction::kPredict, "m", "", ""});
  expect_target("a%2Fb%3Apredict/versions/7:classify", true, {RestAction::kClassify, "a/b:predict", "7", ""});
  expect_target("versions/labels/x:regress", true, {RestAction::kRegress, "versions", "", "x"});
}

TEST(CallTargetTest, OtherPathsAreNone) {
  for (const char* rest : {"", "/versions/7", "m/versions/", "m/labels/", "/metadata"})
    EXPECT_FALSE(read_target(rest, false)) << rest;
  for (const char* rest : {"", "m", ":predict", "m:other", "m/metadata", "m:predict/versions/7"})
    EXPECT_FALSE(read_target(rest, true)) << rest;
}

}  // namespace
}  // namespace atl::frontends::tfserving
