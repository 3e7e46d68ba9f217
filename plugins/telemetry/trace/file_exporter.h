/// Mode triton: traces go to JSON files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/trace/background_exporter.h"
#include "telemetry/trace/settings.h"
#include "telemetry/trace/trace_file.h"

namespace atl::tracing {

/// A scope with a log frequency collects that many traces for each numbered file. Without one its traces are
/// appended to the one file within a second, unless its count is limited: then they are collected and
/// written to a numbered file when the count has run out. Collections are written early when they take half
/// of what may wait.
class FileExporter final : public BackgroundExporter {
 public:
  /// How late a trace may appear in the one file.
  static constexpr int64_t kAppendDelayNs = kNsPerSecond;

  FileExporter(const Config& config, bool continues, const Clock& clock, Log& log, ExportCounts& counts)
      : BackgroundExporter(clock, log, counts),
        pending_bytes_max_(config.pending_bytes_max),
        file_(config.file, continues) {}
  virtual ~FileExporter() = default;

 private:
  /// What has been collected of one scope.
  struct Group {
    std::string text;
    std::vector<std::unique_ptr<Record>> records;  ///< emptied of their events
  };

  void take(std::deque<std::unique_ptr<Record>> records) noexcept override;
  void flush(int64_t deadline_ns) noexcept override;
  bool admit(const Record& record) noexcept override;
  void forget(const Record& record) noexcept override;

  void collect(std::unique_ptr<Record> record);
  void write(Group& group, bool numbered);
  void write_all();
  void append_appendable();
  void write_ended();
  void append_later();

  const uint64_t pending_bytes_max_;
  std::atomic<uint64_t> pending_bytes_{0};
  TraceFile file_;
  std::map<std::shared_ptr<Scope>, Group> groups_;
  bool append_armed_ = false;
};

}  // namespace atl::tracing
