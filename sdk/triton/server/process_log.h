/// What the logs of this process show, as the setters of options say it: at once, and in every server of the program.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/log_control.h"
#include "atoll/triton/server_options.h"

namespace atl::triton {

/// A program's own log; null: it has none.
struct LogCallback {
  TRITONSERVER_LogCallbackFn_t function = nullptr;
  void* userp = nullptr;

  bool is_set() const noexcept { return function != nullptr; }
  /// \param filename, message  end with a NUL
  void call(LogLevel level, const char* filename, int line, int64_t wall_ns, const char* message) const;
};

/// Nothing: it was never said.
struct LogChoices {
  std::optional<bool> info;
  std::optional<bool> warning;
  std::optional<bool> error;
  std::optional<uint32_t> verbose_level;
  std::optional<TRITONSERVER_LogFormat> format;
  std::optional<std::string> file;  ///< empty: the console
  LogCallback callback;

  /// But for the file, which a log that is there keeps.
  void apply_to(LogSettings& settings) const;
  /// Null: there is no callback.
  std::shared_ptr<LogReceiver> receiver() const;
  /// The file only if the options name none.
  void apply_to(TRITONSERVER_ServerOptions& options) const;
};

class LogFollower {
 public:
  /// [any]
  virtual void follow_log(const LogChoices& choices) noexcept = 0;

 protected:
  ~LogFollower() = default;
};

/// [any]
class ProcessLog {
 public:
  static ProcessLog& get();

  template <class Change>
  void choose(Change&& change) {
    std::lock_guard lock(mutex_);
    std::forward<Change>(change)(choices_);
    for (LogFollower* follower : followers_) follower->follow_log(choices_);
  }
  LogChoices choices() const {
    std::lock_guard lock(mutex_);
    return choices_;
  }
  /// Told now and of every change, until the process ends.
  void add(LogFollower& follower);

  // --- what is written while no server has a log for it: to the file or the console ---
  bool shows(LogLevel level) const;
  void write(LogLevel level, std::string_view text) const;

 private:
  mutable std::mutex mutex_;
  LogChoices choices_;
  std::vector<LogFollower*> followers_;
};

}  // namespace atl::triton
