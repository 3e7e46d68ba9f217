/// What is counted of workers, by model version.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/metrics.h"

namespace atl::python {

/// Of all instances of a model version, and of those of its reload. [any]
class WorkerCounts {
 public:
  void add_death() noexcept { deaths_.fetch_add(1, std::memory_order_relaxed); }
  void add_restart() noexcept { restarts_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t deaths() const noexcept { return deaths_.load(std::memory_order_relaxed); }
  uint64_t restarts() const noexcept { return restarts_.load(std::memory_order_relaxed); }

  void add_worker(pid_t pid);
  void remove_worker(pid_t pid) noexcept;
  uint64_t workers() const noexcept;
  /// Memory that the processes have in use; pages that several share count for each.
  uint64_t memory_bytes() const noexcept;

 private:
  std::atomic<uint64_t> deaths_{0}, restarts_{0};
  mutable std::mutex mutex_;
  std::vector<pid_t> pids_;
};

/// Of the versions that are loaded. [any]
class WorkerMetrics {
 public:
  /// The same for all who ask while one of them has it.
  std::shared_ptr<WorkerCounts> of(const std::string& model, int64_t version);
  void collect(MetricSink& sink) const noexcept;

 private:
  using Key = std::pair<std::string, std::string>;  ///< model and version

  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<WorkerCounts>> counts_;
};

}  // namespace atl::python
