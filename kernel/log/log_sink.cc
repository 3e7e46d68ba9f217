#include "kernel/log/log_sink.h"

#include <spdlog/pattern_formatter.h>

#include <algorithm>
#include <chrono>

#include "atoll/runtime/escape.h"
#include "atoll/runtime/fault_report.h"

namespace atl::kernel {
namespace {

constexpr size_t kMessageBytesMax = 32 * 1024;
constexpr int64_t kFlushTimeoutMs = 2000;
constexpr std::string_view kLevelNames[] = {"trace", "debug", "info", "warning", "error"};
constexpr uint32_t kAllLevels = (1U << std::size(kLevelNames)) - 1;
constexpr std::string_view kLevelColumns[] = {"TRACE", "DEBUG", "INFO ", "WARN ", "ERROR"};

constexpr std::string_view kDefaultTime = "default", kIsoTime = "ISO8601";  // also in the table of options

std::unique_ptr<spdlog::formatter> make_formatter(LogFormat format, std::string_view time_format) {
  std::string time = time_format == kIsoTime ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S.%fZ";
  std::string pattern = format == LogFormat::kJson
                            ? cat(R"({"ts":")", time, R"(","level":"%l","instance":"%n","message":"%v"})")
                            : cat(time, " %n %v");
  return std::make_unique<spdlog::pattern_formatter>(std::move(pattern), spdlog::pattern_time_type::utc);
}

}  // namespace

LogSink::LogSink(const Clock* clock) : clock_(clock) { (void)configure({}).ok(); }

LogSink::~LogSink() { (void)flush(); }

Status LogSink::configure(const LogConfig& config) noexcept {
  const auto* name = std::find(std::begin(kLevelNames), std::end(kLevelNames), config.level);
  if (name == std::end(kLevelNames)) {
    return invalid_argument("log level: found '", config.level,
                            "', expected trace, debug, info, warning or error");
  }
  std::shared_ptr<runtime::LineFile> file = runtime::LineFile::standard_error();
  if (!config.file.empty()) {
    Result<std::shared_ptr<runtime::LineFile>> opened = runtime::LineFile::append_to(config.file);
    if (!opened.ok()) {
      return unavailable("log file '", config.file,
                         "' cannot be opened for appending: ", opened.status().text());
    }
    file = std::move(opened).value();
  }
  std::lock_guard lock(mutex_);
  runtime::set_fault_log(config.file.empty() ? -1 : file->descriptor());
  file_ = std::move(file);
  settings_.file = config.file;
  if (config.time_format != configured_.time_format) settings_.format = config.time_format;
  formatter_ = make_formatter(config.format, settings_.format);
  if (config.level != configured_.level) {
    auto lowest = static_cast<uint32_t>(name - kLevelNames);
    uint32_t verbose = lowest < 2 ? 2 - lowest : 0;
    settings_ = {config.file, lowest <= 2, lowest <= 3, true, verbose, settings_.format};
    levels_.store((kAllLevels << lowest) & kAllLevels, std::memory_order_relaxed);
  }
  configured_ = config;
  return {};
}

Status LogSink::update(const LogSettings& wanted) noexcept {
  if (wanted.format != kDefaultTime && wanted.format != kIsoTime) {
    return invalid_argument("log format: found '", wanted.format, "', expected default or ISO8601");
  }
  std::lock_guard lock(mutex_);
  if (wanted.file != settings_.file) return unimplemented("the log file is changed by the manifest only");
  formatter_ = make_formatter(configured_.format, wanted.format);
  settings_ = wanted;
  uint32_t levels = wanted.verbose_level > 1 ? 3 : wanted.verbose_level == 1 ? 2 : 0;
  levels |= (wanted.info ? 4 : 0) | (wanted.warning ? 8 : 0) | (wanted.error ? 16 : 0);
  levels_.store(levels, std::memory_order_relaxed);
  return {};
}

std::unique_ptr<InstanceLog> LogSink::for_instance(std::string_view name) {
  return std::make_unique<InstanceLog>(*this, name);
}

void LogSink::write(LogLevel level, std::string_view instance, std::string_view message) noexcept {
  if (!enabled(level)) return;
  std::unique_lock lock(mutex_);
  if (const std::shared_ptr<LogReceiver> receiver = receiver_; receiver != nullptr) {
    lock.unlock();
    return receiver->take(level, instance, message, wall_ns());
  }
  try {
    if (uint64_t lost = writer_.take_overflow(); lost != 0) {
      put(LogLevel::kWarning, "kernel",
          cat(lost,
              " log records were dropped: the log could not be written, or they came faster than it is read"));
    }
    put(level, instance, message);
  } catch (...) {
    writer_.count_dropped();
  }
}

void LogSink::put(LogLevel level, std::string_view instance, std::string_view message) {
  const std::chrono::system_clock::time_point time{std::chrono::nanoseconds(wall_ns())};
  auto index = std::min<size_t>(static_cast<size_t>(level), std::size(kLevelNames) - 1);
  bool json = configured_.format == LogFormat::kJson;
  auto escape = json ? runtime::append_json_escaped : runtime::append_escaped;
  std::string name, text;
  if (!json) name = cat(kLevelColumns[index], " [");
  escape(name, instance);
  if (!json) name.push_back(']');
  escape(text, message.substr(0, kMessageBytesMax));
  if (message.size() > kMessageBytesMax) text.append("...");
  spdlog::memory_buf_t line;
  formatter_->format({time, {}, name, static_cast<spdlog::level::level_enum>(index), text}, line);
  writer_.push(file_, std::string(line.data(), line.size()));
}

int64_t LogSink::wall_ns() const noexcept {
  if (clock_ != nullptr) return clock_->wall_ns();
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool LogSink::flush() noexcept { return writer_.flush(kFlushTimeoutMs); }

void LogSink::collect(MetricSink& sink) const noexcept {
  sink.family("atoll_log_dropped_total",
              "Log records that were lost because the log could not be written, or was not read as fast as "
              "they came.",
              MetricKind::kCounter);
  sink.sample({}, static_cast<double>(dropped_records()));
}

}  // namespace atl::kernel
