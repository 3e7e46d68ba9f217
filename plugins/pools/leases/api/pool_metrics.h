/// What a scrape of the metrics shows of pools and leases.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/metrics.h"
#include "pools/leases/book/pool_book.h"
#include "pools/leases/book/pool_events.h"

namespace atl::pools {

/// Counts what happens, and keeps what refresh() saw last, for scrapes on any thread. Its lock is held while one event is counted, or while
/// a scrape writes its samples.
class PoolMetrics final : public PoolEvents, public MetricSource {
 public:
  /// Leases whose end is shown; of more than these the ones that end first.
  static constexpr size_t kLeasesShown = 1'000;
  /// Upper bounds of atoll_lease_deploy_seconds: from a small model on a server that runs to a large one on a
  /// machine that is started for it.
  static constexpr std::array kDeploySeconds = {0.1, 0.25, 0.5,  1.0,   2.5,   5.0,
                                                10., 30.0, 60.0, 120.0, 300.0, 900.0};

  virtual ~PoolMetrics() = default;

  /// [the manager's executor]
  void happened(const PoolEvent& event) override;
  /// Likewise, from time to time. \param wall_ns  now
  void refresh(const PoolBook& book, int64_t wall_ns);
  /// [any]
  void collect(MetricSink& sink) const noexcept override;

 private:
  struct PoolFigures {
    std::string name;
    std::array<uint64_t, 4> instances = {};  ///< by InstanceState
    uint64_t capacity = 0, used = 0, largest_free = 0;
  };
  struct LeaseFigures {
    std::string pool, lease;
    double seconds = 0;
  };

  mutable std::mutex mutex_;  ///< guards what follows
  uint64_t created_ = 0, released_ = 0, expired_ = 0;
  std::array<uint64_t, kDeploySeconds.size() + 1> deploys_ = {};  ///< by bucket
  double deploy_seconds_ = 0;                                     ///< of all of them
  std::map<Code, uint64_t> refused_, failed_;
  std::map<std::string, uint64_t, std::less<>> renewed_;  ///< by whom
  std::vector<PoolFigures> pools_;
  std::vector<LeaseFigures> leases_;
};

}  // namespace atl::pools
