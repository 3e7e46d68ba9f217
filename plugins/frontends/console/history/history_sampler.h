/// Makes the points of the history from looks at the catalog.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/models/model.h"
#include "frontends/console/history/history_ring.h"

namespace atl::frontends::console {

/// For one thread at a time.
class HistorySampler {
 public:
  /// All of them outlive this object.
  HistorySampler(ModelCatalog& catalog, const Clock& clock, HistoryRing& ring)
      : catalog_(catalog), clock_(clock), ring_(ring) {}

  /// Looks at the statistics of all models, one after the other; from the second look on, what came since the last one is
  /// a point. [worker]
  /// \returns how long it took, in nanoseconds
  int64_t look();

 private:
  /// A version that has ever had a request.
  struct Used {
    std::string name;
    int64_t version = 0;
    uint64_t load_ns = 0;  ///< tells a version from one that was loaded in its place
    uint64_t success = 0, success_ns = 0, fail = 0;
    uint64_t came = 0, came_ns = 0, failed = 0;  ///< since the look before
  };
  /// Of the whole server, at a look.
  struct Sums {
    int64_t taken_ns = 0;
    double cpu_seconds = 0;
    LatencyHistogram total;
    std::vector<Used> used;  ///< by name and version
  };

  static void count(const Sums& before, Sums& now);
  static void add_quantiles(const Sums& before, const Sums& now, HistoryPoint& point);
  static std::vector<const Used*> busiest_of(const std::vector<Used>& used);
  /// The busiest models, each in its series.
  void add_rows(const std::vector<Used>& used, HistoryPoint& point);

  ModelCatalog& catalog_;
  const Clock& clock_;
  HistoryRing& ring_;
  Sums last_;
  bool is_first_ = true;
};

}  // namespace atl::frontends::console
