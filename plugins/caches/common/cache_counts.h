/// What every cache counts, as the metrics name it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "atoll/core/metrics.h"

namespace atl::caches {

/// Counters in shards, so that threads with different keys do not share a cache line. [any]
class CacheCounts {
 public:
  CacheCounts() = default;
  CacheCounts(const CacheCounts&) = delete;
  CacheCounts& operator=(const CacheCounts&) = delete;

  /// \param hash  of the key
  void add_hit(uint64_t hash, uint64_t took_ns) noexcept { add(hash, &Counts::hits, took_ns); }
  void add_miss(uint64_t hash, uint64_t took_ns) noexcept { add(hash, &Counts::misses, took_ns); }
  void add_insertion(uint64_t hash, uint64_t took_ns) noexcept {
    shard(hash).insertion_ns.fetch_add(took_ns, std::memory_order_relaxed);
  }
  /// nv_cache_num_lookups, _num_hits, _num_misses, _lookup_duration, _insertion_duration.
  void collect(MetricSink& sink) const noexcept;

 private:
  struct alignas(64) Counts {
    std::atomic<uint64_t> hits{0}, misses{0}, look_up_ns{0}, insertion_ns{0};
  };
  Counts& shard(uint64_t hash) noexcept { return shards_[hash % shards_.size()]; }
  void add(uint64_t hash, std::atomic<uint64_t> Counts::*outcome, uint64_t took_ns) noexcept {
    Counts& counts = shard(hash);
    (counts.*outcome).fetch_add(1, std::memory_order_relaxed);
    counts.look_up_ns.fetch_add(took_ns, std::memory_order_relaxed);
  }

  std::array<Counts, 16> shards_;
};

}  // namespace atl::caches
