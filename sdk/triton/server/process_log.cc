#include "server/process_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/lib/rfc3339.h"
#include "atoll/runtime/system_clock.h"

namespace atl::triton {
namespace {

template <class Value, class To>
void set(const std::optional<Value>& value, To& to) {
  if (value) to = *value;
}

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "ERROR";
    case LogLevel::kWarning:
      return "WARN ";
    case LogLevel::kInfo:
      return "INFO ";
    default:
      return "DEBUG";
  }
}

TRITONSERVER_LogLevel c_level(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return TRITONSERVER_LOG_ERROR;
    case LogLevel::kWarning:
      return TRITONSERVER_LOG_WARN;
    case LogLevel::kInfo:
      return TRITONSERVER_LOG_INFO;
    default:
      return TRITONSERVER_LOG_VERBOSE;
  }
}

/// Of the records of a server.
class CallbackReceiver final : public LogReceiver {
 public:
  explicit CallbackReceiver(const LogCallback& callback) : callback_(callback) {}
  void take(LogLevel level, std::string_view instance, std::string_view message,
            int64_t wall_ns) noexcept override {
    try {
      callback_.call(level, std::string(instance).c_str(), 0, wall_ns, std::string(message).c_str());
    } catch (...) {  // no memory: the record is lost
    }
  }

 private:
  const LogCallback callback_;
};

}  // namespace

void LogCallback::call(LogLevel level, const char* filename, int line, int64_t wall_ns,
                       const char* message) const {
  function(c_level(level), filename, line, static_cast<uint64_t>(wall_ns / kNsPerUs), message, userp);
}

std::shared_ptr<LogReceiver> LogChoices::receiver() const {
  return callback.is_set() ? std::make_shared<CallbackReceiver>(callback) : nullptr;
}

void LogChoices::apply_to(LogSettings& settings) const {
  set(info, settings.info);
  set(warning, settings.warning);
  set(error, settings.error);
  set(verbose_level, settings.verbose_level);
  if (format) settings.format = *format == TRITONSERVER_LOG_ISO8601 ? "ISO8601" : "default";
}

void LogChoices::apply_to(TRITONSERVER_ServerOptions& options) const {
  set(info, options.log_info);
  set(warning, options.log_warn);
  set(error, options.log_error);
  set(verbose_level, options.log_verbose);
  set(format, options.log_format);
  if (options.log_file.empty()) set(file, options.log_file);
}

/// Never destroyed: foreign threads may log until the process ends.
ProcessLog& ProcessLog::get() {
  static auto* log = new ProcessLog;
  return *log;
}

void ProcessLog::add(LogFollower& follower) {
  std::lock_guard lock(mutex_);
  followers_.push_back(&follower);
  follower.follow_log(choices_);
}

bool ProcessLog::shows(LogLevel level) const {
  const LogChoices choices = this->choices();
  switch (level) {
    case LogLevel::kError:
      return choices.error.value_or(true);
    case LogLevel::kWarning:
      return choices.warning.value_or(true);
    case LogLevel::kInfo:
      return choices.info.value_or(true);
    default:
      return choices.verbose_level.value_or(0) > 0;
  }
}

void ProcessLog::write(LogLevel level, std::string_view text) const {
  const std::string file = choices().file.value_or("");
  const int64_t now_ns = runtime::SystemClock().wall_ns();
  const std::string line =
      cat(write_rfc3339(now_ns, SecondDigits::kMicroseconds), " ", level_name(level), " ", text, "\n");
  const int opened =
      file.empty() ? -1 : ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  // In one piece, so that lines of several threads do not mix; what cannot be written is lost.
  (void)!::write(opened < 0 ? STDERR_FILENO : opened, line.data(), line.size());
  if (opened >= 0) ::close(opened);
}

}  // namespace atl::triton
