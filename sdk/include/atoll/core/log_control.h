/// What the log shows, changeable while the server runs. Service "atoll.log_control/1", provided by the
/// kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

/// The log settings of the protocol. Levels are switched one by one; `verbose_level` above 0 shows debug
/// records, above 1 trace records too.
struct LogSettings {
  std::string file;  ///< empty: standard error; changed only by the manifest
  bool info = true;
  bool warning = true;
  bool error = true;
  uint32_t verbose_level = 0;
  std::string format = "default";  ///< "default" or "ISO8601": how text records show the time
};

/// [any]
class LogControl {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.log_control/1";

  virtual LogSettings settings() const noexcept = 0;
  /// Until the next change, here or by a reload of the manifest. `file` must be the present one.
  /// Errors: INVALID_ARGUMENT format; UNIMPLEMENTED another file.
  virtual Status update(const LogSettings& settings) noexcept = 0;

 protected:
  ~LogControl() = default;
};

}  // namespace atl
