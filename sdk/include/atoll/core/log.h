/// The log as a plugin sees it. One call writes one record, on one line. Control characters and
/// invalid UTF-8 are escaped by the host, so text from outside can be logged as it is.
///
///     host.log().info("loaded ", count, " files in ", took_ns / kNsPerMs, " ms");
///
/// The request path does not log: a line per request would cost more than the request. What fails
/// there goes to the client as a Status.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl {

/// How much a record matters. kError: something has failed that should not, and somebody has to
/// look. kWarning: the server goes on, but not as intended. kInfo: what an operator wants to know
/// of a healthy server. kDebug and kTrace: for those who look for a cause.
enum class LogLevel : uint32_t { kTrace = 0, kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

/// The log of one plugin instance, from Host::log(). [any]
class Log {
 public:
  /// Whether records of this level are written now. Costs the load of a number; ask before a
  /// message that is costly to make.
  virtual bool enabled(LogLevel level) const noexcept = 0;
  /// Queues one record and never waits: a thread of the server's own writes it. The host adds time,
  /// level and the plugin instance's name. A message is copied; what exceeds 32 KiB is cut. A
  /// record is dropped, and counted in atoll_log_dropped_total, if the log cannot be written, or is
  /// not read as fast as records come.
  virtual void write(LogLevel level, std::string_view message) noexcept = 0;

  /// Each of the following joins its parts as cat() does (text.h), and writes them as one record of
  /// the level of its name. Nothing is joined where the level is not written. Records of level
  /// kTrace are written by write().
  template <class... Parts>
  void debug(const Parts&... parts) {
    if (enabled(LogLevel::kDebug)) write(LogLevel::kDebug, cat(parts...));
  }
  template <class... Parts>
  void info(const Parts&... parts) {
    if (enabled(LogLevel::kInfo)) write(LogLevel::kInfo, cat(parts...));
  }
  template <class... Parts>
  void warning(const Parts&... parts) {
    if (enabled(LogLevel::kWarning)) write(LogLevel::kWarning, cat(parts...));
  }
  template <class... Parts>
  void error(const Parts&... parts) {
    if (enabled(LogLevel::kError)) write(LogLevel::kError, cat(parts...));
  }

 protected:
  ~Log() = default;
};

}  // namespace atl
