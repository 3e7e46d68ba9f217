#include "backends/onnxruntime/environment.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace atl::ort {

/// The living environments' logs. Of static storage and without a destructor that would have to run at exit.
class LogTargets {
 public:
  void add(Environment* environment) noexcept {
    std::lock_guard lock(mutex_);
    environment->next_ = first_;
    first_ = environment;
  }
  void remove(Environment* environment) noexcept {
    std::lock_guard lock(mutex_);
    for (Environment** link = &first_; *link != nullptr; link = &(*link)->next_) {
      if (*link == environment) {
        *link = environment->next_;
        return;
      }
    }
  }
  /// Holds the lock while writing, so that a log is not used after remove().
  void write(OrtLoggingLevel severity, const char* category, const char* logid, const char* location,
             const char* message) noexcept {
    std::lock_guard lock(mutex_);
    if (first_ != nullptr) write_log(&first_->log_, severity, category, logid, location, message);
  }

 private:
  std::mutex mutex_;
  Environment* first_ = nullptr;
};

namespace {

constinit LogTargets g_log_targets;

void ORT_API_CALL write_environment_log(void* /*param*/, OrtLoggingLevel severity, const char* category,
                                        const char* logid, const char* location,
                                        const char* message) noexcept {
  g_log_targets.write(severity, category, logid, location, message);
}

LogLevel level_of(OrtLoggingLevel severity) {
  switch (severity) {
    case ORT_LOGGING_LEVEL_VERBOSE:
      return LogLevel::kDebug;
    case ORT_LOGGING_LEVEL_INFO:
      return LogLevel::kInfo;
    case ORT_LOGGING_LEVEL_WARNING:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

}  // namespace

void turn_telemetry_off() noexcept {
  constexpr char kSwitch[] = "ORT_DISABLE_TELEMETRY";
  const char* value = std::getenv(kSwitch);
  if (value == nullptr || std::strcmp(value, "1") != 0) ::setenv(kSwitch, "1", 1);
}

void ORT_API_CALL write_log(void* log, OrtLoggingLevel severity, const char* /*category*/, const char* logid,
                            const char* location, const char* message) noexcept {
  auto& target = *static_cast<Log*>(log);
  LogLevel level = level_of(severity);
  if (!target.enabled(level)) return;
  std::string_view name = logid == nullptr ? "" : logid;
  target.write(level, cat(name, name.empty() ? "" : ": ", message == nullptr ? "" : message, " [",
                          location == nullptr ? "" : location, "]"));
}

OrtLoggingLevel severity_from_text(std::string_view text) noexcept {
  if (text == "verbose") return ORT_LOGGING_LEVEL_VERBOSE;
  if (text == "info") return ORT_LOGGING_LEVEL_INFO;
  if (text == "error") return ORT_LOGGING_LEVEL_ERROR;
  return ORT_LOGGING_LEVEL_WARNING;
}

Environment::Environment(Log& log, OrtLoggingLevel level, ExecutorFactory& executors) noexcept
    : log_(log), level_(level), executors_(executors) {
  g_log_targets.add(this);
}

Environment::~Environment() {
  // Releasing may log, and the log may be this one.
  env_.reset();
  g_log_targets.remove(this);
}

Result<std::unique_ptr<Environment>> Environment::open(Log& log, OrtLoggingLevel level,
                                                       ExecutorFactory& executors) noexcept {
  ATOLL_RETURN_IF_ERROR(runtime_usable());
  turn_telemetry_off();
  std::unique_ptr<Environment> environment(new Environment(log, level, executors));
  Status status = make(environment->env_, api().CreateEnvWithCustomLogger, &write_environment_log,
                       static_cast<void*>(nullptr), level, "onnxruntime");
  if (!status.ok()) return std::move(status.note("creating ONNX Runtime's environment"));
  ATOLL_RETURN_IF_ERROR(check(api().DisableTelemetryEvents(environment->env_.get())));
  return environment;
}

}  // namespace atl::ort
