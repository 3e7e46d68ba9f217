/// Mode opentelemetry: traces go to a collector by OTLP/HTTP.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/trace/background_exporter.h"
#include "telemetry/trace/http_post.h"
#include "telemetry/trace/settings.h"

namespace atl::tracing {

/// Sends what waits when it is a batch, or the schedule delay after the first of it came. A failed export is
/// tried again a bounded number of times, then its traces are dropped.
class OtlpExporter final : public BackgroundExporter {
 public:
  static constexpr uint32_t kAttemptsMax = 4;
  /// Wait before the second attempt; doubled for each further one.
  static constexpr int64_t kRetryDelayNs = 500 * kNsPerMs;

  OtlpExporter(const Config& config, std::unique_ptr<Transport> transport, IdSource& ids, const Clock& clock,
               Log& log, ExportCounts& counts)
      : BackgroundExporter(clock, log, counts),
        config_(config),
        transport_(std::move(transport)),
        ids_(ids) {}
  virtual ~OtlpExporter() = default;

 private:
  void take(std::deque<std::unique_ptr<Record>> records) noexcept override;
  void flush(int64_t deadline_ns) noexcept override;
  void stop_waiting(int64_t deadline_ns) noexcept override;
  bool admit(const Record& record) noexcept override;
  void forget(const Record& record) noexcept override;

  void export_due();
  bool next_batch();
  /// One attempt. \returns true if the batch is done with: accepted, or given up.
  bool attempt(int64_t timeout_ns, bool last);
  void finish_batch(bool exported);
  void wake_at(int64_t time_ns);

  const Config& config_;
  const std::unique_ptr<Transport> transport_;
  IdSource& ids_;
  std::atomic<uint64_t> pending_spans_{0};
  std::atomic<uint64_t> pending_bytes_{0};
  std::deque<std::unique_ptr<Record>> waiting_;
  uint64_t waiting_spans_ = 0;
  int64_t waiting_since_ns_ = 0;
  std::vector<std::unique_ptr<Record>> batch_;  // being sent
  std::string body_;                            // of the batch
  uint32_t attempts_ = 0;
  int64_t next_attempt_ns_ = 0;
  int64_t armed_ns_ = 0;  // of the timer that is set; 0: none
};

}  // namespace atl::tracing
