/// Metrics that models make: pb_utils.MetricFamily.
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

namespace atl::python {

/// Ordered by name; a name is there once.
using MetricLabels = std::map<std::string, std::string>;

/// What is counted for one set of labels. [any]
class CustomMetric {
 public:
  CustomMetric(MetricKind kind, std::vector<double> bounds)
      : kind_(kind), bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  MetricKind kind() const noexcept { return kind_; }
  double value() const noexcept { return value_.load(std::memory_order_relaxed); }
  void add(double value) noexcept { value_.fetch_add(value, std::memory_order_relaxed); }
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void observe(double value) noexcept;
  void show(MetricSink& sink, std::span<const MetricLabel> labels) const;

 private:
  const MetricKind kind_;
  std::atomic<double> value_{0};
  mutable std::mutex mutex_;  // of what follows
  const std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// Somebody who may have news that have not been counted yet.
class MetricNews {
 public:
  /// Has them counted soon. \returns whether there are none. [any]
  virtual bool hurry() noexcept = 0;

 protected:
  ~MetricNews() = default;
};

/// Of all models. Equal names and labels are one metric, which is there as long as somebody holds it. [any]
class MetricRegistry {
 public:
  class Family {
   public:
    Family(std::string name, std::string help, MetricKind kind)
        : name_(std::move(name)), help_(std::move(help)), kind_(kind) {}
    MetricKind kind() const noexcept { return kind_; }

   private:
    friend class MetricRegistry;
    const std::string name_, help_;
    const MetricKind kind_;
    std::map<MetricLabels, std::weak_ptr<CustomMetric>> metrics_;  // under the registry's lock
  };

  /// Errors: INVALID_ARGUMENT no name of a metric, or a family of another kind has it.
  Result<std::shared_ptr<Family>> family(const std::string& name, const std::string& help, MetricKind kind);
  /// Errors: INVALID_ARGUMENT a label cannot be named so; bounds do not ascend.
  Result<std::shared_ptr<CustomMetric>> metric(Family& family, const MetricLabels& labels,
                                               std::vector<double> bounds);
  void add_news(MetricNews& news) {
    std::lock_guard lock(news_mutex_);
    news_.push_back(&news);
  }
  /// It is not asked any more.
  void remove_news(MetricNews& news) noexcept {
    std::lock_guard lock(news_mutex_);
    std::erase(news_, &news);
  }
  /// Waits for news for a moment, if there are any.
  void collect(MetricSink& sink) const noexcept;

 private:
  bool hurry_all() const noexcept;

  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Family>> families_;
  mutable std::mutex news_mutex_;
  std::vector<MetricNews*> news_;
};

}  // namespace atl::python
