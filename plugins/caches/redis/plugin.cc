/// caches/redis: answers that were given before, in a Redis server.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "caches/redis/option_table.h"
#include "caches/redis/redis_cache.h"

namespace atl::caches {
namespace {

class RedisCachePlugin final : public Plugin {
 public:
  explicit RedisCachePlugin(Host& host) : host_(host) {}
  Status init() override {
    Result<RedisSettings> settings = RedisSettings::read(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    cache_.emplace(host_, settings.value());
    return {};
  }
  Status start() override { return cache_->start(); }
  void stop() override { cache_->stop(); }
  RedisCache& cache() noexcept { return *cache_; }

 private:
  Host& host_;
  std::optional<RedisCache> cache_;
};

}  // namespace

ATOLL_PLUGIN(RedisCachePlugin,
             {.name = "caches/redis",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Answers requests of models with response_cache from a Redis server, if the same was "
                      "asked before, of this server or another.",
              .provides = {provide<ResponseCache, &RedisCachePlugin::cache>(),
                           provide<MetricSource, &RedisCachePlugin::cache>()},
              .options = kRedisOptions,
              .check = &RedisSettings::check});

}  // namespace atl::caches
