/// Metrics that a plugin counts itself. Service "atoll.metric_source/1": the metrics frontend asks
/// every provider at each scrape of /metrics.
///
///     void collect(MetricSink& sink) const noexcept override {
///       sink.family("atoll_mine_hits_total", "Look-ups that found something.", MetricKind::kCounter);
///       const MetricLabel label{"model", model_};
///       sink.sample({&label, 1}, static_cast<double>(hits_.load()));
///     }
///
/// Names and units follow Prometheus: base units (seconds, bytes), `_total` at the end of counters,
/// and the prefix "atoll_". The names nv_* are those of Triton's own metrics: the metrics frontend
/// writes those of models, and telemetry/nvml those of GPUs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace atl {

/// The types of Prometheus. A counter only grows, and begins at 0 with its source; a gauge is what
/// is true now; a histogram counts observed values by size.
enum class MetricKind : uint32_t { kCounter = 0, kGauge = 1, kHistogram = 2 };

/// One label of a sample. The texts are borrowed during the call.
struct MetricLabel {
  /// A name of Prometheus: [a-zA-Z_][a-zA-Z0-9_]*. The label "model" should hold a model's
  /// identifier.
  std::string_view name;
  /// Any text; it is escaped.
  std::string_view value;
};

/// What a histogram has counted since its source began; none of the numbers ever falls.
struct MetricHistogram {
  /// Upper bounds of the buckets, inclusive, ascending and finite, in the metric's unit.
  std::span<const double> bounds;
  /// How many values each bucket has, not cumulative. There is one number more than there are
  /// bounds: the last one counts what is above all bounds.
  std::span<const uint64_t> counts;
  /// The sum of the observed values, in the unit of the bounds.
  double sum = 0;
};

/// Takes the samples of one scrape, on the thread that calls collect(). Everything is copied. A
/// sample that is not valid is left out of the page and counted in atoll_metrics_left_out_samples:
/// its family or one of its labels has a malformed name, a label comes twice, the sample is of
/// another kind than its family, or the family has a sample with the same labels already.
class MetricSink {
 public:
  /// Begins a family of metrics; the samples that follow belong to it. If another source has begun
  /// a family of the same name and kind, the samples join it. The names of the metrics that the
  /// frontend itself writes are refused, and so is a second kind for one name; samples of a refused
  /// family are left out. All sources together have at most 1000 families.
  /// \param help  one sentence, which Prometheus shows beside the name
  virtual void family(std::string_view name, std::string_view help, MetricKind kind) noexcept = 0;
  /// One number of a family of counters or gauges.
  /// \param labels  tell the family's samples apart; may be empty
  virtual void sample(std::span<const MetricLabel> labels, double value) noexcept = 0;
  /// One histogram of a family of histograms. No label may be named "le", which is that of the
  /// buckets.
  virtual void histogram(std::span<const MetricLabel> labels, const MetricHistogram& value) noexcept = 0;

 protected:
  ~MetricSink() = default;
};

/// Something that counts. An instance of a plugin provides one source, in which the parts of the
/// plugin that count write one after the other. [any]
class MetricSource {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.metric_source/1";

  /// Writes the present numbers into the sink. Runs on the thread of a scrape, which waits for it,
  /// so it must not block for long: it reads counters and does no work. The sink is valid during
  /// the call.
  virtual void collect(MetricSink& sink) const noexcept = 0;

 protected:
  ~MetricSource() = default;
};

}  // namespace atl
