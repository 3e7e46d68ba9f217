/// What a metric source tells in one scrape.
#pragma once

#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/metrics.h"
#include "atoll/core/text.h"

namespace atl::test {

struct RecordedSample {
  std::vector<std::pair<std::string, std::string>> labels;  ///< as they came
  double value = 0;                                         ///< of a histogram the sum
  // Of a histogram only:
  std::vector<double> bounds;
  std::vector<uint64_t> counts;
};

struct RecordedFamily {
  std::string name;
  std::string help;
  MetricKind kind = MetricKind::kGauge;
  std::vector<RecordedSample> samples;
};

class RecordedMetrics final : public MetricSink {
 public:
  /// \param source  a MetricSource, or anything with its collect()
  template <typename Source>
  explicit RecordedMetrics(const Source& source) {
    source.collect(*this);
  }
  virtual ~RecordedMetrics() = default;

  void family(std::string_view name, std::string_view help, MetricKind kind) noexcept override {
    families_.push_back({std::string(name), std::string(help), kind, {}});
  }
  void sample(std::span<const MetricLabel> labels, double value) noexcept override { add(labels, value); }
  void histogram(std::span<const MetricLabel> labels, const MetricHistogram& value) noexcept override {
    RecordedSample& taken = add(labels, value.sum);
    taken.bounds.assign(value.bounds.begin(), value.bounds.end());
    taken.counts.assign(value.counts.begin(), value.counts.end());
  }

  /// In the order they came.
  const std::vector<RecordedFamily>& families() const noexcept { return families_; }
  /// Every sample by its name: "atoll_traces_started_total", "atoll_shadow_failures_total{model=m,version=2}"; of
  /// a histogram its "_sum" and "_count".
  std::map<std::string, double> values() const {
    std::map<std::string, double> values;
    for (const RecordedFamily& family : families_) {
      for (const RecordedSample& sample : family.samples) {
        if (family.kind != MetricKind::kHistogram) {
          values[name_of(family, sample)] = sample.value;
          continue;
        }
        values[name_of(family, sample, "_sum")] = sample.value;
        values[name_of(family, sample, "_count")] =
            static_cast<double>(std::accumulate(sample.counts.begin(), sample.counts.end(), uint64_t{0}));
      }
    }
    return values;
  }
  static std::string name_of(const RecordedFamily& family, const RecordedSample& sample,
                             std::string_view suffix = {}) {
    std::string labels;
    for (const auto& [name, value] : sample.labels)
      labels += cat(labels.empty() ? "" : ",", name, "=", value);
    return labels.empty() ? cat(family.name, suffix) : cat(family.name, suffix, "{", labels, "}");
  }

 private:
  RecordedSample& add(std::span<const MetricLabel> labels, double value) {
    if (families_.empty()) families_.emplace_back();  // one without a name: there was none before
    RecordedSample& taken = families_.back().samples.emplace_back();
    for (const MetricLabel& label : labels) taken.labels.emplace_back(label.name, label.value);
    taken.value = value;
    return taken;
  }

  std::vector<RecordedFamily> families_;
};

}  // namespace atl::test
