/// What foreign code is surrounded by: it may be needed for longer than the plugin, by a call that was left behind.
#pragma once

#include <memory>
#include <mutex>

#include "atoll/core/log.h"
#include "atoll/triton/server.h"
#include "backends/triton/memory_manager.h"

namespace atl::triton {

/// A log that may go before those who write to it. [any]
class LentLog final : public Log {
 public:
  explicit LentLog(Log& log) noexcept : log_(&log) {}
  virtual ~LentLog() = default;
  bool enabled(LogLevel level) const noexcept override {
    std::lock_guard lock(mutex_);
    return log_ != nullptr && log_->enabled(level);
  }
  void write(LogLevel level, std::string_view message) noexcept override {
    std::lock_guard lock(mutex_);
    if (log_ != nullptr) log_->write(level, message);
  }
  /// What is written from here on is lost.
  void give_back() noexcept {
    std::lock_guard lock(mutex_);
    log_ = nullptr;
  }

 private:
  mutable std::mutex mutex_;
  Log* log_;
};

/// Everybody who calls foreign code, or is called by it, holds them. [any]
struct ForeignContext {
  ForeignContext(Log& given, std::shared_ptr<TRITONSERVER_Server> asked) noexcept
      : log(given), server(std::move(asked)) {}

  LentLog log;
  BackendMemory memory;
  const std::shared_ptr<TRITONSERVER_Server>
      server;  ///< for requests to other models; null: they are refused
};

}  // namespace atl::triton
