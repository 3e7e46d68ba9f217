#include "atoll/runtime/cache_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CacheKeys, OfEachCache) {
  ManifestKeys local, redis, foreign;
  EXPECT_THAT(set_cache(local, "local", {{"a", "1"}, {"size", "7"}}, "/c").value(), ElementsAre("a"));
  EXPECT_THAT(local.overrides(),
              ElementsAre("plugin.cache.size=\"7B\"", "plugin.cache.use=\"caches/local\""));
  EXPECT_THAT(set_cache(redis, "redis", {{"host", "::1"}, {"tls", "1"}, {"user", "u"}}, "/c").value(),
              ElementsAre("tls"));
  EXPECT_THAT(redis.overrides(), ElementsAre("plugin.cache.address=\"[::1]:6379\"",
                                             "plugin.cache.use=\"caches/redis\"", "plugin.cache.user=\"u\""));
  EXPECT_THAT(set_cache(foreign, "mine", {{"size", "7"}}, "/c").value(), IsEmpty());
  EXPECT_THAT(foreign.overrides(),
              ElementsAre("plugin.cache.directories=[\"/c\"]", "plugin.cache.name=\"mine\"",
                          "plugin.cache.settings={\"size\" = \"7\"}", "plugin.cache.use=\"caches/triton\""));
}

TEST(CacheKeys, ALocalCacheHasASize) {
  for (const char* size : {"", "7MB", "-1"}) {
    ManifestKeys keys;
    EXPECT_EQ(set_cache(keys, "local", {{"size", size}}, "").status().code(), Code::kInternal) << size;
  }
}

}  // namespace
}  // namespace atl::runtime
