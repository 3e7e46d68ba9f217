/// Metrics that a plugin counts itself. Service "atoll.metric_source/1"; whoever exposes metrics asks every
/// provider at each scrape. Names and units follow Prometheus: base units (seconds, bytes), `_total` for
/// counters, prefix "atoll_"; the nv_* names belong to the metrics frontend.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace atl {

enum class MetricKind : uint32_t { kCounter = 0, kGauge = 1, kHistogram = 2 };

struct MetricLabel {
  std::string_view name;
  std::string_view value;  ///< any text; it is escaped
};

/// What a histogram has counted since its source began; none of it ever falls.
struct MetricHistogram {
  std::span<const double> bounds;    ///< upper bounds of the buckets, inclusive, ascending and finite
  std::span<const uint64_t> counts;  ///< by bucket, not cumulative; one more than bounds: what is above all
  double sum = 0;                    ///< of the observed values, in the unit of the bounds
};

/// Takes the samples of one scrape. Everything is copied.
class MetricSink {
 public:
  /// Begins a family; the samples that follow are its own. A family of the same name that another source has
  /// begun is gone on with, if the kind is the same.
  virtual void family(std::string_view name, std::string_view help, MetricKind kind) noexcept = 0;
  /// Of a counter or a gauge.
  virtual void sample(std::span<const MetricLabel> labels, double value) noexcept = 0;
  /// Of a histogram; no label is named "le".
  virtual void histogram(std::span<const MetricLabel> labels, const MetricHistogram& value) noexcept = 0;

 protected:
  ~MetricSink() = default;
};

/// [any] Must not block: a scrape waits for it.
class MetricSource {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.metric_source/1";

  virtual void collect(MetricSink& sink) const noexcept = 0;

 protected:
  ~MetricSource() = default;
};

}  // namespace atl
