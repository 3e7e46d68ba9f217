#include "caches/common/cache_counts.h"

#include <string_view>

namespace atl::caches {

void CacheCounts::collect(MetricSink& sink) const noexcept {
  uint64_t hits = 0, misses = 0, look_up_ns = 0, insertion_ns = 0;
  for (const Counts& counts : shards_) {
    hits += counts.hits;
    misses += counts.misses;
    look_up_ns += counts.look_up_ns;
    insertion_ns += counts.insertion_ns;
  }
  const auto gauge = [&](std::string_view name, std::string_view help, uint64_t value) {
    sink.family(name, help, MetricKind::kGauge);
    sink.sample({}, static_cast<double>(value));
  };
  gauge("nv_cache_num_lookups", "Number of cache lookups in response cache", hits + misses);
  gauge("nv_cache_num_hits", "Number of cache hits in response cache", hits);
  gauge("nv_cache_num_misses", "Number of cache misses in response cache", misses);
  gauge("nv_cache_lookup_duration", "Total cache lookup duration (hit and miss), in microseconds",
        look_up_ns / 1000);
  gauge("nv_cache_insertion_duration", "Total cache insertion duration, in microseconds",
        insertion_ns / 1000);
}

}  // namespace atl::caches
