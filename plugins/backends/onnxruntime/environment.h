/// The environment of ONNX Runtime, and where its log goes.
#pragma once

#include <string_view>

#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {

/// ONNX Runtime's official Linux builds report usage to their makers over HTTPS, from a thread and a database in the user's cache
/// that the first environment sets up; DisableTelemetryEvents comes too late for those. Sets the variable that is read when that
/// environment is made. The server changes no other, and this one only once, when it starts: no other thread can be holding a
/// copy of the environment that this frees. [control]
void turn_telemetry_off() noexcept;

/// ONNX Runtime has one environment a process: who asks for a second one gets the first, with the first's log
/// function. Several plugin instances, or two generations of one, therefore share it, and it writes to the
/// log of any instance that still lives.
class Environment {
 public:
  /// \param log        must outlive the environment.
  /// \param executors  make the threads of sessions; outlive the environment.
  /// Errors: FAILED_PRECONDITION no library is in use; INTERNAL what ONNX Runtime says.
  static Result<std::unique_ptr<Environment>> open(Log& log, OrtLoggingLevel level,
                                                   ExecutorFactory& executors) noexcept;
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const OrtEnv& env() const noexcept { return *env_; }
  Log& log() const noexcept { return log_; }
  OrtLoggingLevel level() const noexcept { return level_; }
  ExecutorFactory& executors() const noexcept { return executors_; }

 private:
  Environment(Log& log, OrtLoggingLevel level, ExecutorFactory& executors) noexcept;

  Log& log_;
  OrtLoggingLevel level_;
  ExecutorFactory& executors_;
  Environment* next_ = nullptr;
  Handle<OrtEnv> env_;

  friend class LogTargets;
};

/// An OrtLoggingFunction whose parameter is a Log. [any]
void ORT_API_CALL write_log(void* log, OrtLoggingLevel severity, const char* category, const char* logid,
                            const char* code_location, const char* message) noexcept;

/// The severity of an option's text; the caller has checked that it is one of
/// verbose|info|warning|error.
OrtLoggingLevel severity_from_text(std::string_view text) noexcept;

}  // namespace atl::ort
