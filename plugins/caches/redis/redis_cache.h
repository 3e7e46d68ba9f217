/// Service "atoll.response_cache/1" in a Redis server that several servers may share.
#pragma once

#include <cstdint>
#include <optional>

#include "atoll/core/clock.h"
#include "atoll/core/host.h"
#include "atoll/core/metrics.h"
#include "atoll/request/response_cache.h"
#include "caches/common/cache_counts.h"
#include "caches/redis/redis_client.h"
#include "caches/redis/settings.h"

namespace atl::caches {

/// A request waits for Redis without a thread, and no longer than the timeout; it is answered, or goes on, on the
/// thread of the connections. While Redis cannot be used no request waits.
class RedisCache final : public ResponseCache, public MetricSource {
 public:
  /// \param host  outlives it
  RedisCache(Host& host, const RedisSettings& settings);
  RedisCache(const RedisCache&) = delete;
  RedisCache& operator=(const RedisCache&) = delete;
  virtual ~RedisCache() = default;

  /// [control] Errors: as RedisClient::start().
  Status start() { return client_.start(); }
  void stop() { client_.stop(); }

  CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept override;
  void collect(MetricSink& sink) const noexcept override;

  RedisClient& client() noexcept { return client_; }

 private:
  class Keeper;
  class LookUp;

  Host& host_;
  Clock& clock_;
  const RedisSettings settings_;
  const uint64_t process_;  ///< another one in each process
  RedisClient client_;
  CacheCounts counts_;
};

}  // namespace atl::caches
