#include "atoll/lib/custom_metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"

namespace atl {
namespace {

/// One line a family or sample.
class Lines final : public MetricSink {
 public:
  void family(std::string_view name, std::string_view help, MetricKind kind) noexcept override {
    text += cat("# ", name, " ", help, " ", static_cast<uint32_t>(kind), "\n");
  }
  void sample(std::span<const MetricLabel> labels, double value) noexcept override {
    add(labels, cat(value));
  }
  void histogram(std::span<const MetricLabel> labels, const MetricHistogram& value) noexcept override {
    std::string counts;
    for (uint64_t count : value.counts) counts += cat(count, ",");
    add(labels, cat(counts, " ", value.sum));
  }
  std::string text;

 private:
  void add(std::span<const MetricLabel> labels, const std::string& value) {
    for (const MetricLabel& label : labels) text += cat(label.name, "=", label.value, " ");
    text += value + "\n";
  }
};

TEST(CustomMetrics, EqualNamesAndLabelsShare) {
  CustomMetrics registry;
  auto one = registry.family("hits_total", "Hits.", MetricKind::kCounter);
  auto two = registry.family("hits_total", "Other.", MetricKind::kCounter);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, *two);
  auto a = registry.metric(**one, {{"model", "m"}}, {}), b = registry.metric(**two, {{"model", "m"}}, {});
  auto c = registry.metric(**one, {}, {});
  (*a)->add(2);
  (*b)->add(1);
  (*c)->set(7);
  Lines lines;
  registry.collect(lines);
  EXPECT_EQ(lines.text, "# hits_total Hits. 0\n7\nmodel=m 3\n");
  (*a).reset();
  (*b).reset();
  lines.text.clear();
  registry.collect(lines);
  EXPECT_EQ(lines.text, "# hits_total Hits. 0\n7\n") << "a metric goes with its last user";
}

TEST(CustomMetrics, AHistogramCountsByBucket) {
  CustomMetrics registry;
  auto family = registry.family("seconds", "", MetricKind::kHistogram);
  auto metric = registry.metric(**family, {}, {0.5, 1});
  for (double value : {0.5, 0.6, 1.0, 3.0}) (*metric)->observe(value);
  Lines lines;
  registry.collect(lines);
  EXPECT_EQ(lines.text, "# seconds  2\n1,2,1, 5.1\n");
}

TEST(CustomMetrics, WhatCanNotBeShownIsRefused) {
  CustomMetrics registry;
  EXPECT_EQ(registry.family("a b", "", MetricKind::kGauge).status().text(),
            "no metric can have the name 'a b'");
  auto family = registry.family("a:b", "", MetricKind::kGauge);
  ASSERT_TRUE(family.ok());
  EXPECT_EQ(registry.family("a:b", "", MetricKind::kCounter).status().text(),
            "metric family 'a:b' is registered with another kind");
  EXPECT_EQ(registry.metric(**family, {{"a:b", ""}}, {}).status().text(),
            "no label of a metric can have the name 'a:b'");
  EXPECT_FALSE(registry.metric(**family, {{"__a", ""}}, {}).ok());
  EXPECT_TRUE(registry.metric(**family, {{"le", ""}}, {}).ok()) << "only a histogram has bounds of its own";
  auto histogram = registry.family("h", "", MetricKind::kHistogram);
  EXPECT_FALSE(registry.metric(**histogram, {{"le", ""}}, {1}).ok());
  EXPECT_EQ(registry.metric(**histogram, {}, {1, 1}).status().text(),
            "bucket 1 of a histogram ends at 1, expected finite numbers that ascend");
}

TEST(CustomMetrics, WhatIsGoneTakesNoMemoryForEver) {
  CustomMetrics registry;
  auto family = registry.family("a", "", MetricKind::kGauge);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(registry.metric(**family, {{"i", cat(i)}}, {}).ok());
  Lines lines;
  registry.collect(lines);
  EXPECT_EQ(lines.text, "") << "a family without metrics is left out";
}

}  // namespace
}  // namespace atl
