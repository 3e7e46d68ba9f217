/// gRPC's own log lines, in the server's log.
#pragma once

#include "atoll/core/log.h"

namespace atl::frontends::grpc_frontend {

/// While one of these lives, what gRPC would write to stderr goes to the log that was given last, at most so
/// many lines a second; how many were left out is said afterwards. gRPC has one place for this in the
/// process.
class LogBridge {
 public:
  static constexpr int kLinesPerSecond = 10;

  explicit LogBridge(Log& log);
  ~LogBridge();
  LogBridge(const LogBridge&) = delete;
  LogBridge& operator=(const LogBridge&) = delete;

 private:
  Log& log_;
};

}  // namespace atl::frontends::grpc_frontend
