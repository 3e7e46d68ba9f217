/// How a model wants its session: what its configuration and the backend's settings say.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/config_view.h"
#include "backends/onnxruntime/environment.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {

/// A parameter of models and a run option of ONNX Runtime.
inline constexpr char kArenaShrinkageKey[] = "memory.enable_memory_arena_shrinkage";

/// What holds for models that say nothing, from the plugin's options.
struct SessionDefaults {
  int64_t intra_op_threads = 0;  ///< 0: `cpus`
  int64_t inter_op_threads = 0;  ///< 0: `cpus`; parallel execution only
  uint32_t cpus = 1;             ///< that the process may use
  bool allow_spinning = false;   ///< idle threads of a session burn CPU for a moment to wake up faster
};

struct OnnxSessionSettings {
  int intra_op_threads = 1;  ///< including the thread that calls; 1: no further thread
  int inter_op_threads = 1;
  ExecutionMode execution_mode = ORT_SEQUENTIAL;
  GraphOptimizationLevel graph_level = ORT_ENABLE_ALL;
  bool memory_arena = true;
  bool memory_pattern = true;
  bool share_session = true;    ///< one session for all instances of a version
  std::string arena_shrinkage;  ///< "cpu:0": give back unused arena memory after each run
  std::vector<std::pair<std::string, std::string>> entries;  ///< session.* keys, passed on as they are
};

/// Errors: INVALID_ARGUMENT names the key, what was found and what was expected.
Result<OnnxSessionSettings> read_session_settings(const backends::ConfigView& config,
                                                  const std::map<std::string, std::string>& backend_settings,
                                                  const SessionDefaults& defaults, Log& log) noexcept;

/// The options object for settings; messages of sessions made with it go to the environment's log.
Result<Handle<OrtSessionOptions>> make_session_options(const OnnxSessionSettings& settings,
                                                       const Environment& environment,
                                                       const std::string& log_id) noexcept;

}  // namespace atl::ort
