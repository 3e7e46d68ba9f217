/// A LatencyHistogram as Prometheus' native histogram: one series, whose buckets grow by a constant factor.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/core/latency_histogram.h"

namespace atl::frontends::metrics {

/// Buckets of schema 3: bucket i has the durations of more than 2^((i-1)/8) s and at most 2^(i/8) s, so each is 9 % wider
/// than the one before.
struct NativeHistogram {
  static constexpr int32_t kSchema = 3;
  /// Durations up to this are in zero_count: those of the LatencyHistogram's first bucket.
  static constexpr double kZeroThresholdSec = 1024e-9;

  /// Neighbouring buckets.
  struct Span {
    int32_t offset = 0;   ///< of the first span its first bucket; else the number of empty buckets before it
    uint32_t length = 0;  ///< in buckets
  };

  uint64_t zero_count = 0;
  std::vector<Span> spans;
  /// One a bucket: by how much its count differs from that of the bucket before, the first one's from 0.
  std::vector<int64_t> deltas;
};

/// Each bucket of `histogram` is counted whole in the native bucket in which its middle lies. So a count never shrinks from
/// one page to the next, which a reader would take for a restart, and a duration is shown at most one bucket away.
NativeHistogram native_histogram(const LatencyHistogram& histogram);

}  // namespace atl::frontends::metrics
