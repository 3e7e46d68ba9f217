/// Metrics that models make: pb_utils.MetricFamily.
#pragma once

#include <mutex>
#include <vector>

#include "atoll/lib/custom_metrics.h"

namespace atl::python {

/// Somebody who may have news that have not been counted yet.
class MetricNews {
 public:
  /// Has them counted soon. \returns whether there are none. [any]
  virtual bool hurry() noexcept = 0;

 protected:
  ~MetricNews() = default;
};

/// Of all models. What workers have sent and nobody has read yet is counted before the metrics are shown. [any]
class MetricRegistry : public CustomMetrics {
 public:
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

  mutable std::mutex news_mutex_;
  std::vector<MetricNews*> news_;
};

}  // namespace atl::python
