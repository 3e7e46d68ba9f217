/// Metrics that a plugin counts itself. Service "atoll.metric_source/1"; whoever exposes metrics asks every
/// provider at each scrape. Names and units follow Prometheus: base units (seconds, bytes), `_total` for
/// counters, prefix "atoll_"; the nv_* names belong to the metrics frontend.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace atl {

enum class MetricKind : uint32_t { kCounter = 0, kGauge = 1 };

struct MetricLabel {
  std::string_view name;
  std::string_view value;  ///< any text; it is escaped
};

/// Takes the samples of one scrape. Everything is copied.
class MetricSink {
 public:
  /// Begins a family; the samples that follow are its own. A family of the same name that another source has
  /// begun is gone on with, if the kind is the same.
  virtual void family(std::string_view name, std::string_view help, MetricKind kind) noexcept = 0;
  virtual void sample(std::span<const MetricLabel> labels, double value) noexcept = 0;

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
