#include "backends/python/calls/metric_registry.h"

#include <chrono>
#include <thread>

namespace atl::python {

bool MetricRegistry::hurry_all() const noexcept {
  std::lock_guard lock(news_mutex_);
  bool is_done = true;
  for (MetricNews* news : news_) is_done = news->hurry() && is_done;
  return is_done;
}

void MetricRegistry::collect(MetricSink& sink) const noexcept {
  constexpr int kLooks = 10;
  constexpr auto kPause = std::chrono::microseconds(100);
  for (int i = 0; i < kLooks && !hurry_all(); ++i) std::this_thread::sleep_for(kPause);
  CustomMetrics::collect(sink);
}

}  // namespace atl::python
