/// One page of metrics, as it is put together: Prometheus' text format, or its protobuf format.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/metrics/native_histogram.h"

namespace atl::frontends::metrics {

using Labels = std::vector<prometheus::ClientMetric::Label>;

/// kText: the text format 0.0.4. kProtobuf: messages io.prometheus.client.MetricFamily, each behind its length; it alone has
/// native histograms.
enum class PageFormat { kText, kProtobuf };

/// The text as it is if it is UTF-8; else with U+FFFD in place of every byte outside ASCII: a reader refuses
/// a whole page because of one such byte.
std::string utf8_text(std::string_view text);

/// Labels as they stand on a page of one format: between the braces, or as fields of a sample's message. Made once for
/// the many samples of one model, by Page::encode().
class EncodedLabels {
 public:
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  friend class Page;
  explicit EncodedLabels(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

/// Families in the order in which they were begun; those that get no sample are not on the page, but for
/// those to be kept. A family takes max_series label sets; more are left out and counted. One thread.
class Page {
 public:
  using FamilyId = size_t;
  static constexpr FamilyId kNone = SIZE_MAX;

  explicit Page(uint32_t max_series, PageFormat format = PageFormat::kText)
      : max_series_(max_series), format_(format) {}
  PageFormat format() const noexcept { return format_; }

  /// Begins a family, or goes on with the one of that name. The name must be valid; help may be any text.
  /// \returns kNone if the family exists with another type; samples given to kNone are counted as left out.
  FamilyId family(std::string_view name, std::string_view help, prometheus::MetricType type);

  /// Its HELP and TYPE are shown even if it gets no sample; on a page of text only, as the other has no use for them.
  void keep(FamilyId family) { families_[family].keep = true; }

  /// Labels must have valid names, in the order in which they are to be shown; values may be any text.
  EncodedLabels encode(const Labels& labels) const;
  /// A counter's or gauge's value.
  void value(FamilyId family, const Labels& labels, double value) { line(family, encode(labels), value); }
  void line(FamilyId family, const EncodedLabels& labels, double value);
  // Labels as for encode().
  /// \param native  the same durations in finer buckets; null: there are none. Only for a page of protobuf
  void histogram(FamilyId family, const Labels& labels, prometheus::ClientMetric::Histogram histogram,
                 const NativeHistogram* native = nullptr);
  void summary(FamilyId family, const Labels& labels, prometheus::ClientMetric::Summary summary);

  /// For samples that could not even be given to a family.
  void count_left_out() noexcept { ++left_out_; }

  /// A family with one sample without labels.
  void gauge(std::string_view name, std::string_view help, double value) {
    this->value(family(name, help, prometheus::MetricType::Gauge), {}, value);
  }
  void counter(std::string_view name, std::string_view help, double value) {
    this->value(family(name, help, prometheus::MetricType::Counter), {}, value);
  }

  bool has(std::string_view name) const { return by_name_.contains(std::string(name)); }
  /// Samples that are not on the page.
  uint64_t left_out() const noexcept { return left_out_; }
  /// The page in its format; the families are gone after it.
  std::string text();

 private:
  /// Counters and gauges, of which there may be hundreds of thousands, are written into `lines` at once; the
  /// library's objects are ten times their size. `distributions` are those of a page of text.
  struct Family {
    std::string name, help;
    prometheus::MetricType type;
    bool keep = false;
    uint32_t samples = 0;
    std::string lines;
    std::vector<prometheus::ClientMetric> distributions;
  };

  /// Null: left out, and counted.
  Family* room(FamilyId family) noexcept;
  prometheus::ClientMetric* add(FamilyId family, const Labels& labels);
  void append_text(Family& family, std::string* page) const;

  uint32_t max_series_;
  PageFormat format_;
  uint64_t left_out_ = 0;
  std::vector<Family> families_;
  std::unordered_map<std::string, FamilyId> by_name_;
};

}  // namespace atl::frontends::metrics
