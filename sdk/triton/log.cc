#include <chrono>
#include <mutex>

#include "atoll/triton/host.h"
#include "error.h"
#include "server/process_log.h"

namespace atl::triton {

/// No destructor runs for it: foreign threads may log until the process ends.
struct LogScopes {
  static constinit inline std::mutex mutex;
  static constinit inline LogScope* youngest = nullptr;

  static bool enabled(LogLevel level) noexcept {
    std::lock_guard lock(mutex);
    return youngest == nullptr ? ProcessLog::get().shows(level) : youngest->log_.enabled(level);
  }
  static void write(LogLevel level, std::string_view text) noexcept {
    std::lock_guard lock(mutex);
    if (youngest == nullptr) {
      if (ProcessLog::get().shows(level)) ProcessLog::get().write(level, text);
    } else if (youngest->log_.enabled(level)) {
      youngest->log_.write(level, text);
    }
  }
  static void push(LogScope& scope) noexcept {
    std::lock_guard lock(mutex);
    scope.older_ = youngest;
    youngest = &scope;
  }
  static void drop(const LogScope& scope) noexcept {
    std::lock_guard lock(mutex);
    LogScope** at = &youngest;
    while (*at != &scope) at = &(*at)->older_;
    *at = scope.older_;
  }
};

LogScope::LogScope(Log& log) noexcept : log_(log) { LogScopes::push(*this); }
LogScope::~LogScope() { LogScopes::drop(*this); }

namespace {

bool to_level(TRITONSERVER_LogLevel from, LogLevel* level) noexcept {
  switch (from) {
    case TRITONSERVER_LOG_INFO:
      *level = LogLevel::kInfo;
      return true;
    case TRITONSERVER_LOG_WARN:
      *level = LogLevel::kWarning;
      return true;
    case TRITONSERVER_LOG_ERROR:
      *level = LogLevel::kError;
      return true;
    case TRITONSERVER_LOG_VERBOSE:
      *level = LogLevel::kDebug;
      return true;
  }
  return false;
}

int64_t wall_ns_now() noexcept {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string_view file_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

}  // namespace
}  // namespace atl::triton

using namespace atl::triton;

bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level) {
  atl::LogLevel wanted;
  return to_level(level, &wanted) && LogScopes::enabled(wanted);
}

TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char* filename, const int line,
                                            const char* msg) {
  if (any_null(filename, msg)) return null_argument(__func__);
  atl::LogLevel wanted;
  if (!to_level(level, &wanted))
    return invalid_argument("log level ", static_cast<int>(level), " is unknown");
  return guarded([&]() -> TRITONSERVER_Error* {
    if (const LogCallback callback = ProcessLog::get().choices().callback; callback.is_set()) {
      if (LogScopes::enabled(wanted)) callback.call(wanted, filename, line, wall_ns_now(), msg);
      return nullptr;
    }
    LogScopes::write(wanted, atl::cat(file_name(filename), ":", line, ": ", msg));
    return nullptr;
  });
}
