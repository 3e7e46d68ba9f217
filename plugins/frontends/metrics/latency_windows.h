/// The latencies of the last minute, for the summaries.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/request/statistics.h"

namespace atl::frontends::metrics {

/// Keeps, for each model version, a sample of its histograms every 10 s, back to the last one that is 60 s old:
/// the difference to now is the window. That is at most eight samples, 85 KB a model version. [any]
class LatencyWindows {
 public:
  static constexpr int64_t kWindowNs = 60 * kNsPerSecond;
  static constexpr int64_t kStepNs = 10 * kNsPerSecond;

  /// Looks at all versions; those that are not among them are forgotten.
  void observe(const std::vector<ModelStatistics>& models, int64_t now_ns);
  /// What came within the window up to `now`. A version that was never sampled: all it has.
  LatencyHistograms recent(const ModelStatistics& now) const;
  size_t size() const;

 private:
  using Key = std::pair<std::string, int64_t>;
  struct Sample {
    int64_t time_ns;
    LatencyHistograms latencies;
  };
  struct Window {
    uint64_t load_duration_ns = 0;
    std::deque<Sample> samples;  ///< never empty
    /// False: the version was loaded anew and counts from zero again.
    bool belongs_to(const ModelStatistics& model) const;
  };

  mutable std::mutex mutex_;
  std::map<Key, Window> windows_;
};

}  // namespace atl::frontends::metrics
