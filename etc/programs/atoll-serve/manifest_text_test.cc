#include "manifest_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/lib/toml.h"

namespace atl::serve {
namespace {

constexpr std::string_view kText = R"(
[atoll]
drain_timeout = "30s"
[log]
level = "info"
[plugin.a]
use = "role/a"
numbers = [1, -2]
ratio = 2.0
needs = { "atoll.x/1" = "b" }
deep.er = true
[plugin."b.c"]
at = 2026-01-02T03:04:05Z
)";

TEST(ManifestText, SettingsAreInIt) {
  auto text =
      manifest_with(kText, "m.toml",
                    {"log.level=\"error\"", "plugin.a.paths=[\"/x y\", \"q\\\"\"]", "plugin.d.use=role/d"});
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_EQ(*text, R"([atoll]
drain_timeout = "30s"

[log]
level = "error"

[plugin.a]
use = "role/a"
numbers = [1, -2]
ratio = 2.0
needs = { "atoll.x/1" = "b" }
deep = { er = true }
paths = ["/x y", "q\""]

[plugin."b.c"]
at = 2026-01-02T03:04:05Z

[plugin.d]
use = "role/d"
)");
  EXPECT_EQ(manifest_with(*text, "m.toml", {}).value(), *text) << "it reads back as what it was";
}

TEST(ManifestText, WhatIsWrongIsToldAtOnce) {
  EXPECT_THAT(manifest_with("[a\n", "m.toml", {}).status().text(), testing::HasSubstr("m.toml:1"));
  const std::string wrong = manifest_with(kText, "m.toml", {"plugin.a.use.x=1", "=2"}).status().text();
  EXPECT_THAT(wrong, testing::HasSubstr("--set plugin.a.use.x: 'use' is string"));
  EXPECT_THAT(wrong, testing::HasSubstr("found key ''"));
}

}  // namespace
}  // namespace atl::serve
