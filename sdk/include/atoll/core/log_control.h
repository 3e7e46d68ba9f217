/// What the log shows, changeable while the server runs. This is the log extension of KServe's
/// protocol: `POST v2/logging`, and LogSettings of the gRPC service. Service "atoll.log_control/1", minor 1,
/// provided by the kernel and used by the frontends.
///
///     LogSettings settings = log_control->settings();
///     settings.verbose_level = 1;
///     Status updated = log_control->update(settings);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/log.h"
#include "atoll/core/status.h"

namespace atl {

/// The log settings of the protocol. Levels are switched one by one, unlike in the manifest, whose
/// `level` names the lowest one that is shown.
struct LogSettings {
  /// `log_file`: where records go; empty: standard error. Only the manifest changes it.
  std::string file;
  /// `log_info`: whether records of level info are shown.
  bool info = true;
  /// `log_warning`: whether records of level warning are shown.
  bool warning = true;
  /// `log_error`: whether records of level error are shown.
  bool error = true;
  /// `log_verbose_level`: above 0, debug records are shown; above 1, trace records too.
  uint32_t verbose_level = 0;
  /// `log_format`: how text records show the time. "default" has microseconds, "ISO8601" whole
  /// seconds; both are UTC.
  std::string format = "default";
};

/// Gets records in place of the log's file, for a program that has the server inside and a log of its own.
class LogReceiver {
 public:
  virtual ~LogReceiver() = default;
  /// Takes one record, of a level that is shown. The thread that logs waits for it, and no lock of the log is held: it may come
  /// on several threads at a time. A record that it logs itself comes back to it. [any]
  /// \param instance  the plugin instance that logs, or "kernel"
  /// \param message   as it was logged, not escaped and of any length
  /// \param wall_ns   when, by the wall clock, in nanoseconds since 1970
  virtual void take(LogLevel level, std::string_view instance, std::string_view message,
                    int64_t wall_ns) noexcept = 0;
};

/// The settings of the one log that all plugins of a server share. [any]
class LogControl {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.log_control/1";

  /// A copy of the settings that apply now.
  virtual LogSettings settings() const noexcept = 0;
  /// Applies all settings at once, from the next record on. They last until the next change, which
  /// comes through here or by a reload of the manifest that changes the same setting.
  /// \param settings  the complete settings; `file` must be the present one
  /// Errors, of which nothing changes: INVALID_ARGUMENT if the format is none of the two;
  /// UNIMPLEMENTED if the file is another one.
  virtual Status update(const LogSettings& settings) noexcept = 0;

  // --- since minor 1 ---
  /// From the next record on all of them go to the receiver, and to nowhere else.
  /// \param receiver  shared with the log, and with threads that are inside it; null: the file again
  virtual void send_to(std::shared_ptr<LogReceiver> receiver) noexcept { (void)receiver; }

 protected:
  ~LogControl() = default;
};

}  // namespace atl
