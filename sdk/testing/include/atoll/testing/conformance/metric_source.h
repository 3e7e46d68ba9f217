/// Conformance of "atoll.metric_source/1".
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "atoll/core/metrics.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/recorded_metrics.h"

namespace atl::test {

/// A source with what makes it count.
class MetricSourceUnderTest {
 public:
  virtual ~MetricSourceUnderTest() = default;
  virtual MetricSource& source() = 0;
  /// Something happens that it counts: some sample differs after it. Called while other threads collect.
  virtual void use() = 0;
};

struct MetricSourceProvider {
  std::string name;
  std::function<std::shared_ptr<MetricSourceUnderTest>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const MetricSourceProvider& provider, std::ostream* out) { *out << provider.name; }
};

class MetricSourceConformance : public Conformance<MetricSourceProvider> {
 protected:
  static bool is_name(std::string_view text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
           std::string_view::npos;
  }
  /// The values of a scrape without those of gauges.
  static std::map<std::string, double> counted(const RecordedMetrics& scrape) {
    auto values = scrape.values();
    for (const RecordedFamily& family : scrape.families()) {
      if (family.kind != MetricKind::kGauge) continue;
      for (const RecordedSample& sample : family.samples)
        values.erase(RecordedMetrics::name_of(family, sample));
    }
    return values;
  }
  /// What is wrong with a scrape, one sentence each.
  static std::vector<std::string> problems(const RecordedMetrics& scrape) {
    std::vector<std::string> found;
    std::set<std::string> names;
    for (const RecordedFamily& family : scrape.families()) {
      if (!names.insert(family.name).second) found.push_back(cat(family.name, " is begun twice"));
      look_at_family(family, found);
      std::set<std::string> samples;
      for (const RecordedSample& sample : family.samples) {
        const std::string name = RecordedMetrics::name_of(family, sample);
        if (!samples.insert(name).second) found.push_back(cat(name, " is there twice"));
        if (!std::isfinite(sample.value)) found.push_back(cat(name, " is no number"));
        if (family.kind == MetricKind::kCounter && sample.value < 0)
          found.push_back(cat(name, " is negative"));
        look_at_buckets(family, sample, found);
        look_at_labels(name, sample, family.samples.front(), found);
      }
    }
    return found;
  }

 private:
  static void look_at_family(const RecordedFamily& family, std::vector<std::string>& found) {
    constexpr std::array<std::string_view, 11> kOtherUnits = {
        "_ms",      "_us", "_ns", "_milliseconds", "_microseconds", "_nanoseconds",
        "_minutes", "_kb", "_mb", "_kib",          "_mib"};
    if (!is_name(family.name)) found.push_back(cat("'", family.name, "' is no name of a family"));
    if (!family.name.starts_with("atoll_")) found.push_back(cat(family.name, " does not begin with atoll_"));
    if (family.help.empty()) found.push_back(cat(family.name, " has no help"));
    if ((family.kind == MetricKind::kCounter) != family.name.ends_with("_total")) {
      found.push_back(cat(family.name, ": counters, and no others, end in _total"));
    }
    std::string_view base = family.name;
    if (base.ends_with("_total")) base.remove_suffix(6);
    for (std::string_view unit : kOtherUnits) {
      if (base.ends_with(unit)) found.push_back(cat(family.name, " is not in base units"));
    }
  }
  static void look_at_buckets(const RecordedFamily& family, const RecordedSample& sample,
                              std::vector<std::string>& found) {
    const std::string name = RecordedMetrics::name_of(family, sample);
    if (family.kind != MetricKind::kHistogram) {
      if (!sample.counts.empty()) found.push_back(cat(name, " has buckets and is no histogram"));
      return;
    }
    const std::vector<double>& bounds = sample.bounds;
    if (sample.counts.size() != bounds.size() + 1)
      found.push_back(cat(name, " has ", sample.counts.size(), " counts for ", bounds.size(), " bounds"));
    if (std::ranges::adjacent_find(bounds, std::greater_equal<>()) != bounds.end() ||
        !std::ranges::all_of(bounds, [](double bound) { return std::isfinite(bound); }))
      found.push_back(cat(name, ": its bounds are not finite and ascending"));
    if (bounds != family.samples.front().bounds)
      found.push_back(cat(name, " has other bounds than the family's first sample"));
  }
  static void look_at_labels(const std::string& name, const RecordedSample& sample,
                             const RecordedSample& first, std::vector<std::string>& found) {
    bool as_first = sample.labels.size() == first.labels.size();
    std::set<std::string> labels;
    for (size_t i = 0; i < sample.labels.size(); ++i) {
      const std::string& label = sample.labels[i].first;
      as_first = as_first && label == first.labels[i].first;
      if (!labels.insert(label).second) found.push_back(cat(name, ": label ", label, " is there twice"));
      if (!is_name(label) || label.starts_with("__") || label == "le" || label == "quantile") {
        found.push_back(cat(name, ": '", label, "' may not be a label"));
      }
    }
    if (!as_first) found.push_back(cat(name, " has other labels than the family's first sample"));
  }
};

TEST_P(MetricSourceConformance, NamesUnitsLabelsAndValuesAreAsPrometheusWantsThem) {
  check([&] {
    auto made = GetParam().make();
    for (int i = 0; i < 3; ++i) {
      RecordedMetrics scrape(made->source());
      EXPECT_EQ(problems(scrape), std::vector<std::string>());
      made->use();
    }
    RecordedMetrics last(made->source());
    EXPECT_EQ(problems(last), std::vector<std::string>());
    EXPECT_FALSE(last.families().empty()) << "nothing was tested";
  });
}

TEST_P(MetricSourceConformance, WhatHappensIsCounted) {
  check([&] {
    auto made = GetParam().make();
    const RecordedMetrics first(made->source()), second(made->source());
    EXPECT_EQ(counted(second), counted(first)) << "collecting changes nothing but gauges";
    // A gauge may tell the time; what use() does shows in what stands still without it.
    auto earlier = first.values(), before = second.values();
    made->use();
    const auto after = RecordedMetrics(made->source()).values();
    EXPECT_TRUE(std::any_of(after.begin(), after.end(), [&](const auto& sample) {
      const auto& [name, value] = sample;
      const bool is_new = !before.contains(name);
      return is_new || (before[name] == earlier[name] && before[name] != value);
    })) << "no sample differs after use()";
  });
}

TEST_P(MetricSourceConformance, CountersDoNotGoBack) {
  check([&] {
    auto made = GetParam().make();
    std::map<std::string, double> highest;
    for (int i = 0; i < 10; ++i) {
      RecordedMetrics scrape(made->source());
      const auto rises = [&highest](const std::string& name, double value) {
        EXPECT_GE(value, highest[name]) << name;
        highest[name] = value;
      };
      for (const RecordedFamily& family : scrape.families()) {
        if (family.kind == MetricKind::kGauge) continue;
        for (const RecordedSample& sample : family.samples) {
          const std::string name = RecordedMetrics::name_of(family, sample);
          rises(name, sample.value);
          for (size_t bucket = 0; bucket < sample.counts.size(); ++bucket)
            rises(cat(name, " bucket ", bucket), static_cast<double>(sample.counts[bucket]));
        }
      }
      made->use();
    }
  });
}

TEST_P(MetricSourceConformance, ManyThreadsCollectWhileItCounts) {
  check([&] {
    auto made = GetParam().make();
    std::atomic<bool> ended{false};
    std::atomic<uint64_t> scrapes{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (!ended || scrapes < 3) {
          wrong += problems(RecordedMetrics(made->source())).size();
          ++scrapes;
          std::this_thread::yield();
        }
      });
    }
    for (int i = 0; i < 50; ++i) made->use();
    ended = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0u);
  });
}

}  // namespace atl::test
