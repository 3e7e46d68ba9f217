/// Service "atoll.response_cache/1" in the server's own memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/core/executor.h"
#include "atoll/core/host.h"
#include "atoll/core/metrics.h"
#include "atoll/core/stop_executor.h"
#include "atoll/request/response_cache.h"
#include "caches/common/cache_counts.h"
#include "caches/local/answer_store.h"
#include "caches/local/flights.h"

namespace atl::caches {

struct LocalCacheSettings {
  uint64_t size_bytes = uint64_t{64} << 20;
  int64_t ttl_ns = 0;  ///< 0: answers do not age
};

/// A request whose answer is kept is answered on its own thread. Of equal requests that come together the first is
/// computed and the others wait for it; who waits is answered, or goes on, on a thread of the cache's.
class LocalCache final : public ResponseCache, public MetricSource, private CancelListener {
 public:
  /// \param host  outlives it
  LocalCache(Host& host, const LocalCacheSettings& settings);
  LocalCache(const LocalCache&) = delete;
  LocalCache& operator=(const LocalCache&) = delete;
  virtual ~LocalCache() = default;

  /// [control] Errors: those of ExecutorFactory::create.
  Status start() noexcept;
  void stop() noexcept { stop_executor(executor_); }

  /// Answers that are kept stay, as far as there is room.
  void follow(const LocalCacheSettings& settings) noexcept {
    store_.follow(settings.size_bytes, settings.ttl_ns);
  }

  CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept override;
  uint64_t memory_bytes() const noexcept override { return store_.used_bytes(); }
  void collect(MetricSink& sink) const noexcept override;

  const AnswerStore& store() const noexcept { return store_; }

 private:
  class Keeper;

  void lead(Request& request, CacheWaiter& waiter, const CacheKey& key, int64_t begun_ns) noexcept;
  void hit(Request& request, CacheWaiter& waiter, const CacheKey& key, const KeptAnswer::Ref& answer,
           int64_t begun_ns) noexcept;
  Waiting* make_waiting(Request& request, CacheWaiter& waiter, const CacheKey& key,
                        int64_t begun_ns) noexcept;
  void end_flight(const CacheKey& key, KeptAnswer::Ref answer) noexcept;
  void pass_on(const CacheKey& key) noexcept;
  void end_wait(Waiting& waiting) noexcept;
  void on_cancel(void* waiting) noexcept override;

  Host& host_;
  Clock& clock_;
  const uint64_t seed_;
  AnswerStore store_;
  Flights flights_;
  SerialExecutorPtr executor_;
  CacheCounts counts_;
  std::atomic<uint64_t> waits_{0};
};

}  // namespace atl::caches
