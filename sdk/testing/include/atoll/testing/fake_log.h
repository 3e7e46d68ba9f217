/// A log that keeps what is written, for tests to look at.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/log.h"

namespace atl::test {

struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string message;
};

/// [any]
class RecordingLog final : public Log {
 public:
  virtual ~RecordingLog() = default;
  bool enabled(LogLevel level) const noexcept override {
    std::lock_guard lock(mutex_);
    return level >= threshold_;
  }
  void write(LogLevel level, std::string_view message) noexcept override {
    std::lock_guard lock(mutex_);
    records_.push_back({level, std::string(message)});
  }
  /// Default: everything.
  void set_threshold(LogLevel level) {
    std::lock_guard lock(mutex_);
    threshold_ = level;
  }
  std::vector<LogRecord> records() const {
    std::lock_guard lock(mutex_);
    return records_;
  }
  /// Records of a level that contain the text.
  size_t count(LogLevel level, std::string_view text = {}) const {
    std::lock_guard lock(mutex_);
    size_t found = 0;
    for (const LogRecord& record : records_) {
      found += record.level == level && record.message.find(text) != std::string::npos;
    }
    return found;
  }
  bool contains(std::string_view text) const {
    std::lock_guard lock(mutex_);
    for (const LogRecord& record : records_) {
      if (record.message.find(text) != std::string::npos) return true;
    }
    return false;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    records_.clear();
  }

 private:
  mutable std::mutex mutex_;
  LogLevel threshold_ = LogLevel::kTrace;
  std::vector<LogRecord> records_;
};

}  // namespace atl::test
