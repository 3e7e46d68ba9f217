/// Services "atoll.request_observer/1" and "atoll.metric_source/1".
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "atoll/core/clock.h"
#include "atoll/core/host.h"
#include "atoll/core/replaceable.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/request/request_observer.h"
#include "telemetry/recorder/recording_queue.h"

namespace atl::recorder {

class RecordingService final : public RequestObserver, public MetricSource {
 public:
  /// \param host  outlives this; its clock says when the recording begins
  RecordingService(Host& host, RecorderSettings settings);

  /// Errors: UNAVAILABLE the file cannot be made.
  Status start() noexcept;
  /// All observations have ended.
  void stop() noexcept;
  /// Whether only what may change while it records is different.
  bool can_follow(const RecorderSettings& next) const noexcept { return next.file == file_; }
  /// Requests that come from now on are filtered anew. [control]
  void follow(const RecorderSettings& next) noexcept;

  bool active() const noexcept override { return !file_.empty(); }
  RequestObservation* begin(const Request& request) noexcept override;
  void collect(MetricSink& sink) const noexcept override {
    if (active()) queue_.collect(sink);
  }

 private:
  class Observation;
  using Filter = Replaceable<RecordingFilter>;

  const std::string file_;
  Host& host_;
  const int64_t began_ns_;  ///< by the steady clock
  DeviceMemory devices_{host_};
  Filter filter_;
  RecordingQueue queue_;
  std::atomic<uint64_t> seen_{0};
  std::atomic<uint64_t> last_number_{0};
};

}  // namespace atl::recorder
