/// Where log records go. One object a process, made by main and handed down; nothing is global.
///
/// One record is one line, whatever text came from outside: control characters, line separators and invalid
/// UTF-8 are escaped. A record that cannot be written (full disk, closed pipe) is counted and dropped; the
/// server goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/clock.h"
#include "atoll/log.h"
#include "atoll/log_control.h"
#include "atoll/status.h"
#include "kernel/manifest/manifest.h"

namespace spdlog::sinks {
class sink;
}

namespace atl::kernel {

class InstanceLog;

/// [any] Every function may be called from any thread.
class LogSink final : public LogControl {
 public:
  /// Text to standard error at level info.
  /// \param clock  for the time of records; must outlive this object; null: the system's.
  explicit LogSink(const Clock* clock = nullptr);
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

  /// Takes over level, format and destination. A file is opened for appending again, even if its name did not
  /// change, so that a rotated file is let go. On failure everything stays as it was. Errors:
  /// INVALID_ARGUMENT unknown level; UNAVAILABLE the file cannot be opened.
  Status configure(const LogConfig& config) noexcept;

  /// The log of one plugin instance, or of the kernel ("kernel"). The sink must outlive it.
  std::unique_ptr<InstanceLog> for_instance(std::string_view name);

  bool enabled(LogLevel level) const noexcept {
    return ((levels_.load(std::memory_order_relaxed) >> static_cast<uint32_t>(level)) & 1) != 0;
  }
  /// Writes one record. Texts above 32 KiB are cut.
  void write(LogLevel level, std::string_view instance, std::string_view message) noexcept;

  // --- LogControl ---
  LogSettings settings() const noexcept override {
    std::lock_guard lock(mutex_);
    return settings_;
  }
  Status update(const LogSettings& settings) noexcept override;

  /// Records lost since the start because writing failed.
  uint64_t dropped_records() const noexcept { return dropped_records_.load(std::memory_order_relaxed); }

 private:
  const Clock* clock_;
  std::atomic<uint32_t> levels_{0};  ///< bit n: LogLevel n is shown
  std::atomic<uint64_t> dropped_records_{0};
  mutable std::mutex mutex_;  // guards the following, and the writes
  LogFormat format_ = LogFormat::kText;
  LogSettings settings_;
  std::shared_ptr<spdlog::sinks::sink> sink_;
};

/// A sink with a name. [any]
class InstanceLog final : public Log {
 public:
  InstanceLog(LogSink& sink, std::string_view name) : sink_(sink), name_(name) {}
  bool enabled(LogLevel level) const noexcept override { return sink_.enabled(level); }
  void write(LogLevel level, std::string_view message) noexcept override {
    sink_.write(level, name_, message);
  }

 private:
  LogSink& sink_;
  const std::string name_;
};

}  // namespace atl::kernel
