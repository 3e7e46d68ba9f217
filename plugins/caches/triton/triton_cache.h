/// Service "atoll.response_cache/1" over a library that keeps answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/host.h"
#include "atoll/core/metrics.h"
#include "atoll/request/response_cache.h"
#include "caches/common/cache_counts.h"
#include "caches/common/content_key.h"
#include "caches/triton/answer_library.h"
#include "caches/triton/failures.h"

namespace atl::caches {

struct TritonCacheSettings {
  uint32_t threads = 4;    ///< on which the library is called; 0: on the requests' own
  int64_t timeout_ns = 0;  ///< of a look-up
  uint64_t entry_bytes_max = 0;
  uint64_t write_buffer_bytes = 0;
};

/// The library is called on threads of the cache's own, and a request waits for it without one, no longer than the
/// timeout. Calls with one key come one after the other, so that what was kept is found. Without threads of its own the
/// library is called where it is needed, for as long as it takes.
class TritonCache final : public ResponseCache, public MetricSource {
 public:
  /// \param host  outlives it
  TritonCache(Host& host, const TritonCacheSettings& settings);
  TritonCache(const TritonCache&) = delete;
  TritonCache& operator=(const TritonCache&) = delete;
  virtual ~TritonCache() { stop(); }

  /// [control] Errors: ExecutorFactory::create()
  Status start(std::unique_ptr<AnswerLibrary> library);
  /// [control] Waits for the calls that are in the library, and ends it.
  void stop() noexcept;

  CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept override;
  void collect(MetricSink& sink) const noexcept override;

 private:
  class Keeper;
  class LookUp;

  /// A thread.
  struct Lane {
    SerialExecutorPtr executor;
    std::atomic<int64_t> called_ns{0};  ///< when the call began that has not returned; 0: there is none
  };
  bool has_threads() const noexcept { return !lanes_.empty(); }
  /// There are some.
  Lane& lane_of(uint64_t hash) noexcept { return lanes_[hash % lanes_.size()]; }
  /// Whether its thread is in a call that takes longer than anybody waits for.
  bool is_stuck(uint64_t hash) noexcept;
  /// In the library. Failures are reported. NOT_FOUND, or another: there is none
  Result<std::string> find(const std::string& key) noexcept;
  void keep(uint64_t hash, const std::string& key, const std::string& bytes) noexcept;
  /// keep(), on the key's thread if there are threads.
  void insert(uint64_t hash, std::string key, std::string bytes);
  /// Answers the request and releases it. False: it is a miss, whatever was found
  bool hit(Request& request, CacheWaiter& waiter, const ContentKey& key, Result<std::string> found,
           int64_t begun_ns) noexcept;
  /// Sees to it that the request's answer is kept. It goes on.
  void miss(Request& request, CacheWaiter& waiter, const ContentKey& key, int64_t begun_ns) noexcept;
  uint64_t since_ns(int64_t begun_ns) const noexcept {
    return static_cast<uint64_t>(clock_.now_ns() - begun_ns);
  }

  Host& host_;
  Clock& clock_;
  const TritonCacheSettings settings_;
  const uint64_t process_;  ///< another one in each process
  std::unique_ptr<AnswerLibrary> library_;
  CacheCounts counts_;
  CacheFailures failures_;
  std::atomic<uint64_t> buffered_bytes_{0};
  std::atomic<uint64_t> dropped_{0};
  std::vector<Lane> lanes_;
  SerialExecutorPtr timers_;
};

}  // namespace atl::caches
