/// Triton's metrics of GPUs, read when they are asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/metrics.h"
#include "telemetry/nvml/gpu_reader.h"

namespace atl::telemetry {

/// Readings are made on a thread of its own, one at a time, when somebody asks and the last one is older than the
/// interval. Whoever asks waits for it, but not for long: a driver that hangs holds up no scrape, which then shows the
/// last readings there are. [any]
class GpuMetrics final : public MetricSource {
 public:
  using Read = std::function<std::vector<GpuReading>()>;
  static constexpr int64_t kLongestWaitNs = 100 * kNsPerMs;

  /// \param read  called on the thread alone
  GpuMetrics(Clock& clock, int64_t interval_ns, Read read)
      : clock_(clock), interval_ns_(interval_ns), read_(std::move(read)) {}

  /// Begins with a reading, without waiting for it. Before it, and after close(), there are no metrics.
  /// Errors: as ExecutorFactory::create().
  Status open(ExecutorFactory& executors) noexcept;
  /// Returns when no reading is under way. [control]
  void close() noexcept;

  void collect(MetricSink& sink) const noexcept override;

 private:
  void post_reading() const;
  void make_reading() const;

  Clock& clock_;
  const int64_t interval_ns_;
  const Read read_;
  mutable std::mutex mutex_;
  mutable std::condition_variable done_;
  mutable bool is_open_ = false;
  mutable bool is_reading_ = false;
  mutable int64_t read_at_ns_ = 0;
  mutable std::vector<GpuReading> readings_;
  mutable SerialExecutorPtr executor_;
};

}  // namespace atl::telemetry
