#include "frontends/grpc/log_bridge.h"

#include <grpc/support/log.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace atl::frontends::grpc_frontend {
namespace {

struct Bridge {
  std::mutex mutex;
  std::vector<Log*> logs;
  int64_t second = 0;
  int lines = 0;  ///< in that second
  uint64_t left_out = 0;
};

Bridge& bridge() {
  static auto& one = *new Bridge;  // gRPC's threads may log for as long as the process lives
  return one;
}

LogLevel level_of(gpr_log_severity severity) noexcept {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    default:
      return LogLevel::kError;
  }
}

void write(gpr_log_func_args* line) {
  const LogLevel level = level_of(line->severity);
  Bridge& to = bridge();
  // Held while it is written: the log may go with its instance right after.
  std::lock_guard lock(to.mutex);
  if (to.logs.empty() || !to.logs.back()->enabled(level)) return;
  Log& log = *to.logs.back();
  const int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  if (now != to.second) {
    to.second = now;
    to.lines = 0;
    if (to.left_out != 0) {
      log.warning("gRPC wrote ", to.left_out, to.left_out == 1 ? " line" : " lines", " more, left out");
      to.left_out = 0;
    }
  }
  if (++to.lines > LogBridge::kLinesPerSecond) {
    ++to.left_out;
    return;
  }
  std::string_view file(line->file);
  file.remove_prefix(file.find_last_of('/') + 1);  // npos + 1 is 0
  log.write(level, cat("gRPC: ", file, ":", line->line, ": ", line->message));
}

}  // namespace

LogBridge::LogBridge(Log& log) : log_(log) {
  Bridge& to = bridge();
  {
    std::lock_guard lock(to.mutex);
    to.logs.push_back(&log);
  }
  gpr_set_log_function(&write);
}

LogBridge::~LogBridge() {
  Bridge& to = bridge();
  std::lock_guard lock(to.mutex);
  to.logs.erase(std::find(to.logs.begin(), to.logs.end(), &log_));
  if (to.logs.empty()) gpr_set_log_function(nullptr);  // back to stderr
}

}  // namespace atl::frontends::grpc_frontend
