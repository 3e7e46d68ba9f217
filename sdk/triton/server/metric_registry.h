/// The metrics that foreign code counts: of the whole process, because they are not bound to a server.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/metrics.h"
#include "atoll/core/status.h"

namespace atl::triton {

/// Ordered by name; a name is there once.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// What is counted for one set of labels. [any]
class MetricSeries {
 public:
  /// \param bounds  of a histogram's buckets
  explicit MetricSeries(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  double value() const noexcept { return value_.load(std::memory_order_relaxed); }
  void add(double value) noexcept { value_.fetch_add(value, std::memory_order_relaxed); }
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void observe(double value) noexcept;
  void show_histogram(MetricSink& sink, std::span<const MetricLabel> labels) const;

 private:
  friend class MetricRegistry;
  uint64_t users_ = 0;  ///< under the registry's lock
  std::atomic<double> value_{0};
  mutable std::mutex mutex_;
  const std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// Is never removed, as a scrape's families do not go away.
struct MetricFamilyEntry {
  std::string help;
  MetricKind kind = MetricKind::kCounter;
  std::map<MetricLabels, std::unique_ptr<MetricSeries>> series;
};

/// [any]
class MetricRegistry {
 public:
  /// The process's. No destructor runs for it: foreign threads may count until the end.
  static MetricRegistry& instance();

  /// The family of this name, made if there is none; the help of the first one stays.
  /// Errors: INVALID_ARGUMENT no name of a metric, or a family of another kind has it.
  Result<MetricFamilyEntry*> family(const std::string& name, const std::string& help, MetricKind kind);
  /// The series of these labels, which all who ask for it share; the first one's bounds stay. To be given back.
  /// Errors: INVALID_ARGUMENT a label cannot be named so; bounds do not ascend.
  Result<MetricSeries*> take(MetricFamilyEntry& family, const MetricLabels& labels,
                             std::vector<double> bounds);
  /// The series goes away with its last user.
  void give_back(MetricFamilyEntry& family, MetricSeries& series) noexcept;
  void collect(MetricSink& sink) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, MetricFamilyEntry> families_;
};

}  // namespace atl::triton
