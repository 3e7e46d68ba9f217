#include "backends/python/calls/metric_registry.h"

#include <gtest/gtest.h>

#include "atoll/testing/recorded_metrics.h"

namespace atl::python {
namespace {

class News final : public MetricNews {
 public:
  bool hurry() noexcept override { return ++asked > 2; }
  int asked = 0;
};

TEST(MetricRegistry, NewsAreWaitedForAMoment) {
  MetricRegistry registry;
  News news;
  registry.add_news(news);
  atl::test::RecordedMetrics first(registry);
  EXPECT_EQ(news.asked, 3);
  registry.remove_news(news);
  atl::test::RecordedMetrics second(registry);
  EXPECT_EQ(news.asked, 3);
}

}  // namespace
}  // namespace atl::python
