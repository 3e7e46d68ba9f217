/// How a model's workers run: the plugin's options, and what the model says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "backends/python/process/worker_process.h"

namespace atl::python {

/// The plugin's options; a model's parameter of the same name comes before each.
struct PythonSettings {
  std::string interpreter = "python3";
  int64_t execute_timeout_ns = 0;  ///< 0: none
  int64_t start_timeout_ns = 0;    ///< 0: none
  int64_t stop_timeout_ns = 20'000'000'000;
  uint64_t shared_memory_bytes = 0;  ///< most that one worker shares with the server; 0: any
  ProcessLimits limits;
  std::string user;                      ///< empty: the server's
  std::vector<std::string> environment;  ///< names of variables that are passed on
  std::string cgroup;                    ///< folder of groups for workers; empty: none
  bool watch = false;                    ///< the model is loaded anew when its program is saved
  std::vector<std::string> directories;  ///< each with a folder for every backend that is a Python program

  /// Errors: INVALID_ARGUMENT names the option.
  static Result<PythonSettings> read(const Options& options);
};

/// One model's.
struct ModelSettings : PythonSettings {
  std::string environment_path;  ///< EXECUTION_ENV_PATH, the model's directory filled in; empty: none
  uint64_t first_slab_bytes = 1 << 20;
};

/// What the options bound, a model may only make smaller. \param settings_of  the backend whose settings count, if it is another than the
/// model's. Errors: INVALID_ARGUMENT names model and parameter.
Result<ModelSettings> model_settings(const PythonSettings& options, const ModelSource& source,
                                     std::string_view settings_of = {});

}  // namespace atl::python
