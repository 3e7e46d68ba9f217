/// The log as a plugin sees it. One record per call; control characters are escaped by the host, so text from
/// outside can be logged as it is. Never on the request path.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl {

enum class LogLevel : uint32_t { kTrace = 0, kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

/// [any]
class Log {
 public:
  virtual bool enabled(LogLevel level) const noexcept = 0;
  /// The host adds time, level and the plugin instance's name.
  virtual void write(LogLevel level, std::string_view message) noexcept = 0;

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
