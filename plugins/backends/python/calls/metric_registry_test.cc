#include "backends/python/calls/metric_registry.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"

namespace atl::python {
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

class News final : public MetricNews {
 public:
  bool hurry() noexcept override { return ++asked > 2; }
  int asked = 0;
};

TEST(MetricRegistry, EqualNamesAndLabelsShare) {
  MetricRegistry registry;
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

TEST(MetricRegistry, AHistogramCountsByBucket) {
  MetricRegistry registry;
  auto family = registry.family("seconds", "", MetricKind::kHistogram);
  auto metric = registry.metric(**family, {}, {0.5, 1});
  for (double value : {0.5, 0.6, 1.0, 3.0}) (*metric)->observe(value);
  Lines lines;
  registry.collect(lines);
  EXPECT_EQ(lines.text, "# seconds  2\n1,2,1, 5.1\n");
}

TEST(MetricRegistry, WhatCanNotBeShownIsRefused) {
  MetricRegistry registry;
  EXPECT_EQ(registry.family("a b", "", MetricKind::kGauge).status().text(), "'a b' is no name of a metric");
  auto family = registry.family("a:b", "", MetricKind::kGauge);
  ASSERT_TRUE(family.ok());
  EXPECT_EQ(registry.family("a:b", "", MetricKind::kCounter).status().text(),
            "a metric family of another kind is named 'a:b'");
  EXPECT_EQ(registry.metric(**family, {{"le", ""}}, {}).status().text(), "'le' is no name of a label");
  EXPECT_EQ(registry.metric(**family, {{"a:b", ""}}, {}).status().text(), "'a:b' is no name of a label");
  EXPECT_FALSE(registry.metric(**family, {}, {1, 1}).ok());
}

TEST(MetricRegistry, WhatIsGoneTakesNoMemoryForEver) {
  MetricRegistry registry;
  auto family = registry.family("a", "", MetricKind::kGauge);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(registry.metric(**family, {{"i", cat(i)}}, {}).ok());
  Lines lines;
  registry.collect(lines);
  EXPECT_EQ(lines.text, "# a  1\n");
}

TEST(MetricRegistry, NewsAreWaitedForAMoment) {
  MetricRegistry registry;
  News news;
  registry.add_news(news);
  Lines lines;
  registry.collect(lines);
  EXPECT_EQ(news.asked, 3);
  registry.remove_news(news);
  registry.collect(lines);
  EXPECT_EQ(news.asked, 3);
}

}  // namespace
}  // namespace atl::python
