/// The metrics of what holds requests up: limits of tenants, resources that executions share, slots of sequences. Service
/// "atoll.queue_metrics/1", provided by plugins of admission and schedulers that have such metrics. Who tells an operator what
/// waits asks these few instead of all sources (atoll/core/metrics.h), of which some count for every model.
///
///     class Limits final : public Plugin, public MetricSource, public QueueMetrics {
///       void collect(MetricSink& sink) const noexcept override { ... }  // of both: the same metrics
///     };
///
/// A provider is a source of metrics, too; its families are those of docs/metrics.md.
#pragma once

#include <string_view>

#include "atoll/core/metrics.h"

namespace atl {

/// Something that requests wait for, and that counts. [any]
class QueueMetrics {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.queue_metrics/1";

  /// Writes the present numbers into the sink, as MetricSource::collect() does and under the same rules: it must not block for
  /// long, and the sink is valid during the call.
  virtual void collect(MetricSink& sink) const noexcept = 0;

 protected:
  ~QueueMetrics() = default;
};

}  // namespace atl
