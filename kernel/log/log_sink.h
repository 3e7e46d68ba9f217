/// Where log records go. One object a process, made by main and handed down; nothing is global.
///
/// One record is one line, whatever text came from outside: control characters, line separators and invalid
/// UTF-8 are escaped. Records are written by a thread of the sink's own. One that cannot be written (full
/// disk, closed pipe), or that does not fit because nobody reads the log, is counted and dropped; the server
/// goes on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "atoll/core/log_control.h"
#include "atoll/core/metrics.h"
#include "atoll/core/status.h"
#include "atoll/runtime/line_writer.h"
#include "kernel/manifest/manifest.h"

namespace spdlog {
class formatter;
}

namespace atl::kernel {

class InstanceLog;

/// [any] Every function may be called from any thread.
class LogSink final : public LogControl, public MetricSource {
 public:
  /// Text to standard error at level info.
  /// \param clock  for the time of records; must outlive this object; null: the system's.
  explicit LogSink(const Clock* clock = nullptr);
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  /// Waits for what is queued, but not long if nobody reads it.
  virtual ~LogSink();

  /// Takes over level, format and destination. A file is opened for appending again, even if its name did not
  /// change, so that a rotated file is let go. What update() has set stays where the configuration says the same as the
  /// one before. On failure everything stays as it was. Errors:
  /// INVALID_ARGUMENT unknown level; UNAVAILABLE the file cannot be opened.
  Status configure(const LogConfig& config) noexcept;

  /// The log of one plugin instance, or of the kernel ("kernel"). The sink must outlive it.
  std::unique_ptr<InstanceLog> for_instance(std::string_view name);

  bool enabled(LogLevel level) const noexcept {
    return ((levels_.load(std::memory_order_relaxed) >> static_cast<uint32_t>(level)) & 1) != 0;
  }
  /// Queues one record; never waits. Texts above 32 KiB are cut.
  void write(LogLevel level, std::string_view instance, std::string_view message) noexcept;
  /// Waits until everything is written, at most as long as an end of the process may wait for it: before
  /// _exit().
  /// \returns whether it is.
  bool flush() noexcept;

  // --- LogControl ---
  LogSettings settings() const noexcept override {
    std::lock_guard lock(mutex_);
    return settings_;
  }
  Status update(const LogSettings& settings) noexcept override;
  void send_to(std::shared_ptr<LogReceiver> receiver) noexcept override {
    std::lock_guard lock(mutex_);
    receiver_.swap(receiver);
  }

  // --- MetricSource ---
  void collect(MetricSink& sink) const noexcept override;

  /// Records that are not written yet; for signal handlers.
  const std::atomic<uint64_t>& pending_records() const noexcept { return writer_.pending(); }
  /// Records lost since the start: writing failed, or they did not fit.
  uint64_t dropped_records() const noexcept { return writer_.dropped(); }

 private:
  void put(LogLevel level, std::string_view instance, std::string_view message);
  int64_t wall_ns() const noexcept;

  const Clock* clock_;
  std::atomic<uint32_t> levels_{0};  ///< bit n: LogLevel n is shown
  mutable std::mutex mutex_;  // guards the following, and the order of records; never held during a write
  LogConfig configured_{"", LogFormat::kText, "", ""};
  LogSettings settings_;
  std::unique_ptr<spdlog::formatter> formatter_;
  std::shared_ptr<const runtime::LineFile> file_;
  std::shared_ptr<LogReceiver> receiver_;  ///< null: records go to the file
  runtime::LineWriter writer_;
};

/// A sink with a name. [any]
class InstanceLog final : public Log {
 public:
  InstanceLog(LogSink& sink, std::string_view name) : sink_(sink), name_(name) {}
  bool enabled(LogLevel level) const noexcept override { return sink_.enabled(shown_as(level)); }
  void write(LogLevel level, std::string_view message) noexcept override {
    sink_.write(shown_as(level), name_, message);
  }
  /// From here on everything is a detail: debug records at most.
  void demote() noexcept { demoted_.store(true); }

 private:
  LogLevel shown_as(LogLevel level) const noexcept {
    return demoted_.load(std::memory_order_relaxed) ? std::min(level, LogLevel::kDebug) : level;
  }

  std::atomic<bool> demoted_{false};
  LogSink& sink_;
  const std::string name_;
};

}  // namespace atl::kernel
