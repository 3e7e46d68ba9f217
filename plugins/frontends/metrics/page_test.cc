#include "frontends/metrics/page.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace atl::frontends::metrics {
namespace {

using prometheus::MetricType;

TEST(PageTest, FamiliesWithoutSamplesAreOmitted) {
  Page page(10);
  page.family("empty", "Nothing.", MetricType::Counter);
  page.counter("one", "One.", 1);
  EXPECT_EQ(page.text(), "# HELP one One.\n# TYPE one counter\none 1\n");
  EXPECT_EQ(Page(10).text(), "");
}

TEST(PageTest, FamiliesThatAreKeptAreShownWithoutSamples) {
  Page page(10);
  page.keep(page.family("h", "H.", MetricType::Histogram));
  page.keep(page.family("s", "S.", MetricType::Summary));
  page.keep(page.family("c", "C.", MetricType::Counter));
  EXPECT_EQ(
      page.text(),
      "# HELP h H.\n# TYPE h histogram\n# HELP s S.\n# TYPE s summary\n# HELP c C.\n# TYPE c counter\n");
}

/// What the library writes for the same gauges.
std::string library_text(const std::vector<double>& values) {
  prometheus::MetricFamily family{"g", "G.", MetricType::Gauge, {}};
  for (double value : values) family.metric.emplace_back().gauge.value = value;
  return prometheus::TextSerializer().Serialize({family});
}

TEST(PageTest, NumbersAreThoseOfTheLibrary) {
  std::vector<double> values = {0,    -0.0, 1,        -1,   0.1, 1.0 / 3, 1e15, 123456789012345678.0,
                                1e16, 1e-5, 2.5e-300, 1e300};
  for (double special : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::max(),
                         std::numeric_limits<double>::denorm_min()}) {
    values.push_back(special);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isnan(value)) values.push_back(value);
    values.push_back(static_cast<double>(random() >> (i % 64)));
  }
  Page page(1'000'000);
  const auto gauge = page.family("g", "G.", MetricType::Gauge);
  for (double value : values) page.value(gauge, {}, value);
  EXPECT_EQ(page.text(), library_text(values));
}

TEST(PageTest, NumbersAndLabels) {
  Page page(10);
  const auto gauge = page.family("g", "G.", MetricType::Gauge);
  page.value(gauge, {{"_tag", "t"}, {"model", "m"}}, 268435456);
  page.value(gauge, {}, 0.25);
  page.value(gauge, {}, std::numeric_limits<double>::infinity());
  page.summary(
      page.family("s", "S.", MetricType::Summary), {{"model", "m"}},
      {.sample_count = 2, .sample_sum = 3, .quantile = {{0.5, std::numeric_limits<double>::quiet_NaN()}}});
  page.histogram(page.family("h", "H.", MetricType::Histogram), {{"model", "m"}},
                 {.sample_count = 2, .sample_sum = 3, .bucket = {{1, 100}}});
  EXPECT_EQ(page.text(),
            "# HELP g G.\n# TYPE g gauge\n"
            "g{_tag=\"t\",model=\"m\"} 268435456\ng 0.25\ng +Inf\n"
            "# HELP s S.\n# TYPE s summary\n"
            "s_count{model=\"m\"} 2\ns_sum{model=\"m\"} 3\ns{model=\"m\",quantile=\"0.5\"} Nan\n"
            "# HELP h H.\n# TYPE h histogram\n"
            "h_count{model=\"m\"} 2\nh_sum{model=\"m\"} 3\n"
            "h_bucket{model=\"m\",le=\"100\"} 1\nh_bucket{model=\"m\",le=\"+Inf\"} 2\n");
}

TEST(PageTest, ValuesAndHelpAreEscaped) {
  Page page(10);
  const auto gauge = page.family("g", "a \\ b\nc \"d\" \xff", MetricType::Gauge);
  page.value(gauge, {{"l", "q\" b\\ n\n e\xc3\xa9"}}, 1);
  page.value(gauge, {{"l", "bad \xc3\xa9\xff"}}, 2);
  EXPECT_EQ(page.text(),
            "# HELP g a \\\\ b\\nc \"d\" \xef\xbf\xbd\n# TYPE g gauge\n"
            "g{l=\"q\\\" b\\\\ n\\n e\xc3\xa9\"} 1\n"
            "g{l=\"bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"} 2\n");
}

TEST(PageTest, AFamilyGoesOnUnderItsNameAndType) {
  Page page(10);
  const auto first = page.family("a", "A.", MetricType::Counter);
  EXPECT_TRUE(page.has("a"));
  EXPECT_FALSE(page.has("b"));
  EXPECT_EQ(page.family("a", "Another help.", MetricType::Counter), first);
  const auto other = page.family("a", "A.", MetricType::Gauge);
  EXPECT_EQ(other, Page::kNone);
  page.value(other, {}, 1);
  page.value(first, {}, 2);
  EXPECT_EQ(page.left_out(), 1u);
  EXPECT_EQ(page.text(), "# HELP a A.\n# TYPE a counter\na 2\n");
}

TEST(PageTest, SeriesAreLimitedForEachFamily) {
  for (int count : {2, 3, 4}) {
    Page page(3);
    const auto a = page.family("a", "A.", MetricType::Counter);
    const auto b = page.family("b", "B.", MetricType::Histogram);
    for (int i = 0; i < count; ++i) {
      page.value(a, {{"i", std::to_string(i)}}, 1);
      page.histogram(b, {{"i", std::to_string(i)}}, {});
    }
    EXPECT_EQ(page.left_out(), count == 4 ? 2u : 0u);
    const std::string text = page.text();
    EXPECT_EQ(text.find("a{i=\"3\"}"), std::string::npos);
    EXPECT_NE(text.find("a{i=\"1\"} 1\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace atl::frontends::metrics
