/// Takes entries off the request path: a bounded queue and a thread that writes them to the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/core/metrics.h"
#include "recording.pb.h"
#include "telemetry/recorder/recording_file.h"

namespace atl::recorder {

/// A failure of the file ends the recording: it is logged, and everything that comes afterwards is dropped.
class RecordingQueue {
 public:
  enum class Kind : uint8_t { kRequest, kResponse };

  RecordingQueue(const RecorderSettings& settings, int64_t began_unix_ns, Log& log)
      : file_(settings.file, began_unix_ns), log_(log), filter_(settings.filter), limits_(settings.limits) {}
  RecordingQueue(const RecordingQueue&) = delete;
  RecordingQueue& operator=(const RecordingQueue&) = delete;
  virtual ~RecordingQueue() = default;

  /// Begins the file and starts the thread. Errors: those of RecordingFile::open() and ExecutorFactory::create().
  Status start(ExecutorFactory& executors) noexcept;
  /// Nobody adds any more: writes what is left, on this thread.
  void stop() noexcept;
  /// From now on. [control]
  void follow(const RecordingFilter& filter, const RecordingLimits& limits) noexcept;

  /// Whether an entry of about so many bytes may wait; add() or nothing has to follow. If not, or if the recording has
  /// ended, it counts as lost. [request]
  bool admit(Kind kind, uint64_t bytes) noexcept;
  /// Adds what was admitted with so many bytes. [request]
  void add(Kind kind, uint64_t bytes, std::unique_ptr<recording::v1::Entry> entry) noexcept;
  /// The file has failed or is full. [any]
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }
  void collect(MetricSink& sink) const noexcept;

 private:
  struct Waiting {
    Kind kind;
    uint64_t bytes;
    std::unique_ptr<recording::v1::Entry> entry;
  };
  struct Lost {
    std::atomic<uint64_t> requests{0};
    std::atomic<uint64_t> responses{0};
  };

  void count_lost(Kind kind) noexcept;
  void write_all() noexcept;
  void write(const Waiting& waiting, const RecordingFilter& filter, const RecordingLimits& limits) noexcept;
  /// Says in the file what was lost since this was said last.
  void write_lost(const RecordingFilter& filter, const RecordingLimits& limits) noexcept;
  void end(const Status& reason) noexcept;

  RecordingFile file_;  ///< the executor's, or, while it stops, the thread's that stops it
  Log& log_;
  SerialExecutorPtr executor_;
  uint64_t told_requests_ = 0, told_responses_ = 0;  ///< as lost, in the file
  std::atomic<bool> has_ended_{false};
  std::atomic<uint64_t> pending_bytes_{0};
  std::atomic<uint64_t> requests_{0}, responses_{0}, written_bytes_{0};
  Lost lost_;
  std::mutex mutex_;  ///< guards what follows
  std::vector<Waiting> waiting_;
  RecordingFilter filter_;
  RecordingLimits limits_;
  std::atomic<uint64_t> pending_bytes_max_{limits_.pending_bytes_max};
};

}  // namespace atl::recorder
