/// Takes lines off the calls' threads: a bounded queue and a thread that writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/lib/log_interval.h"
#include "telemetry/audit/rotated_file.h"

namespace atl::audit {

/// What cannot be written, because the queue is full or the disk is, is dropped and counted: no call waits for it. Once
/// lines can be written again, one says how many are missing.
class AuditLog {
 public:
  /// \param most_bytes  that wait at most
  AuditLog(RotatedFile file, uint64_t most_bytes, const Clock& clock, Log& log);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog() = default;

  /// Opens the file and starts the thread. [control] Errors: those of RotatedFile::open(), ExecutorFactory::create().
  Status start(ExecutorFactory& executors);
  /// Writes what waits, and ends the thread. Nobody adds any more. [control]
  void stop() noexcept;
  /// Opens the file anew: it may have been moved. [any]
  void reopen() noexcept;

  /// \param line  with its line feed [any]
  void add(std::string line) noexcept;

  uint64_t written() const noexcept { return written_.load(std::memory_order_relaxed); }
  uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  void write_waiting() noexcept;

  const uint64_t most_bytes_;
  const Clock& clock_;
  Log& log_;
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> dropped_{0};
  LogInterval log_interval_;

  std::mutex mutex_;  ///< for these
  std::string waiting_;
  uint64_t waiting_count_ = 0;
  bool is_posted_ = false;

  // --- the thread's ---
  RotatedFile file_;
  uint64_t told_dropped_ = 0;  ///< of those dropped, how many a line of the file tells of
  SerialExecutorPtr executor_;
};

}  // namespace atl::audit
