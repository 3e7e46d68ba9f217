/// Options of the log, which are the whole process's at once.
#include <utility>

#include "atoll/triton/server_options.h"
#include "server/process_log.h"
#include "server/server_options_internal.h"

using namespace atl::triton;

namespace {

template <class Choose>
TRITONSERVER_Error* chosen(Choose&& choose) noexcept {
  return stored([&] { ProcessLog::get().choose(std::forward<Choose>(choose)); });
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogFile(TRITONSERVER_ServerOptions* options,
                                                         const char* file) {
  if (any_null(options, file)) return null_argument(__func__);
  return chosen([&](LogChoices& log) { options->log_file = *(log.file = file); });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogInfo(TRITONSERVER_ServerOptions* options, bool log) {
  if (options == nullptr) return null_argument(__func__);
  return chosen([&](LogChoices& choices) { choices.info = options->log_info = log; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogWarn(TRITONSERVER_ServerOptions* options, bool log) {
  if (options == nullptr) return null_argument(__func__);
  return chosen([&](LogChoices& choices) { choices.warning = options->log_warn = log; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogError(TRITONSERVER_ServerOptions* options, bool log) {
  if (options == nullptr) return null_argument(__func__);
  return chosen([&](LogChoices& choices) { choices.error = options->log_error = log; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogFormat(TRITONSERVER_ServerOptions* options,
                                                           const TRITONSERVER_LogFormat format) {
  if (options == nullptr) return null_argument(__func__);
  if (format != TRITONSERVER_LOG_DEFAULT && format != TRITONSERVER_LOG_ISO8601) {
    return invalid_argument("log format ", static_cast<int>(format), " is unknown");
  }
  return chosen([&](LogChoices& log) { log.format = options->log_format = format; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogCallback(TRITONSERVER_ServerOptions* options,
                                                             TRITONSERVER_LogCallbackFn_t callback,
                                                             void* userp) {
  if (options == nullptr) return null_argument(__func__);
  return chosen([&](LogChoices& log) { log.callback = {callback, userp}; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogVerbose(TRITONSERVER_ServerOptions* options, int level) {
  if (options == nullptr) return null_argument(__func__);
  const uint32_t shown = level < 0 ? 0 : static_cast<uint32_t>(level);
  return chosen([&](LogChoices& log) { log.verbose_level = options->log_verbose = shown; });
}
