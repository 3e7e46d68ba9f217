/// Gives memory that the process's allocator keeps unused back to the system.
#pragma once

#include <cstdint>

#include "atoll/core/executor.h"
#include "atoll/core/host.h"
#include "atoll/core/stop_executor.h"

namespace atl::memory {

/// What one look at the process has found.
struct MemorySample {
  int64_t now_ns = 0;
  uint64_t resident_bytes = 0;
  int64_t cpu_ns = 0;  ///< that the process has used since it began
};

/// When giving back is worth it: resident memory is well above the least that it has been since the last time,
/// and has stopped growing. A busy process is left alone where it takes the memory again: the time until the next
/// attempt doubles. Not thread safe.
class TrimRule {
 public:
  static constexpr uint64_t kWorthBytes = uint64_t{24} << 20;
  static constexpr uint64_t kNoiseBytes = uint64_t{1} << 20;
  static constexpr int64_t kShortestPauseNs = 20 * kNsPerSecond;
  static constexpr int64_t kLongestPauseNs = 600 * kNsPerSecond;

  /// Whether to give back now; done() follows then.
  bool is_due(const MemorySample& sample) noexcept;
  /// \param before, after  resident bytes
  void done(uint64_t before, uint64_t after, int64_t now_ns) noexcept;

 private:
  bool is_quiet(const MemorySample& sample) const noexcept;

  MemorySample last_;         ///< sample; no time: none
  uint64_t least_bytes_ = 0;  ///< since the last time
  uint64_t before_bytes_ = 0;
  int64_t not_before_ns_ = 0;
  int64_t pause_ns_ = kShortestPauseNs;
  uint64_t floor_bytes_ = 0;  // the least that was ever resident
  int64_t retry_ns_ = 0;
  int64_t retry_pause_ns_ = kShortestPauseNs;  // doubles while nothing has grown
};

/// Looks every few seconds, on a thread below the priority of those that answer, which costs requests nothing.
class MemoryTrim {
 public:
  explicit MemoryTrim(Host& host) noexcept : host_(host) {}

  /// [control] Errors: those of ExecutorFactory::create().
  Status start() noexcept;
  void stop() noexcept { stop_executor(executor_); }

 private:
  MemorySample look_at_process() const noexcept;
  void look_later();
  void look();

  Host& host_;
  TrimRule rule_;
  SerialExecutorPtr executor_;
};

}  // namespace atl::memory
