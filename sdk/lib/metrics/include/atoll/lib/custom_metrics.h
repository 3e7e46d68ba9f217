/// Metrics that code outside of the server makes while it runs: Python models (pb_utils.MetricFamily) and Triton's C API.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/metrics.h"
#include "atoll/core/status.h"

namespace atl {

/// Label to value.
using CustomLabels = std::map<std::string, std::string>;

/// What is counted for one set of labels. [any]
class CustomMetric {
 public:
  /// \param bounds  upper ends of a histogram's buckets, without +Inf; empty for other kinds
  CustomMetric(MetricKind kind, std::vector<double> bounds)
      : kind_(kind), bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  MetricKind kind() const noexcept { return kind_; }
  double value() const noexcept { return value_.load(std::memory_order_relaxed); }
  void add(double value) noexcept { value_.fetch_add(value, std::memory_order_relaxed); }
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  /// Of a histogram.
  void observe(double value) noexcept;
  void show(MetricSink& sink, std::span<const MetricLabel> labels) const;

 private:
  const MetricKind kind_;
  std::atomic<double> value_{0};
  mutable std::mutex mutex_;  ///< guards counts_ and sum_
  const std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// Families and their metrics. Whoever asks for equal names and labels shares one metric, which is shown as long as somebody holds
/// it and its family. [any]
class CustomMetrics {
 public:
  class Family {
   public:
    Family(std::string name, std::string help, MetricKind kind)
        : name_(std::move(name)), help_(std::move(help)), kind_(kind) {}
    MetricKind kind() const noexcept { return kind_; }

   private:
    friend class CustomMetrics;
    const std::string name_, help_;
    const MetricKind kind_;
    std::map<CustomLabels, std::weak_ptr<CustomMetric>> metrics_;  ///< guarded by the lock of CustomMetrics
  };

  /// The family of this name, made if nobody holds one; the help of the first one stays.
  /// Errors: INVALID_ARGUMENT Prometheus does not take the name, or a family of another kind has it.
  Result<std::shared_ptr<Family>> family(const std::string& name, const std::string& help, MetricKind kind);
  /// The metric of these labels; the first one's bounds stay.
  /// Errors: INVALID_ARGUMENT Prometheus does not take a label's name; bounds are not finite or do not ascend.
  Result<std::shared_ptr<CustomMetric>> metric(Family& family, const CustomLabels& labels,
                                               std::vector<double> bounds);
  /// A family without metrics is left out.
  void collect(MetricSink& sink) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Family>> families_;
};

}  // namespace atl
