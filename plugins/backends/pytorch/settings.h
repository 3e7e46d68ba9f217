/// How a model wants to be run: what its configuration's parameters say.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "atoll/models/model_description.h"

namespace atl::pytorch {

struct TorchSettings {
  bool inference_mode = true;   ///< INFERENCE_MODE: no records for gradients are kept
  bool optimized = true;        ///< not DISABLE_OPTIMIZED_EXECUTION: the interpreter may rewrite the graph
  bool shares_weights = false;  ///< ENABLE_WEIGHT_SHARING: one module for all instances of a version
  int intra_op_threads = 1;  ///< INTRA_OP_THREAD_COUNT: that work on one operator, the calling one included
};

/// \param intra_op_threads  of models that do not say
/// Errors: INVALID_ARGUMENT names the parameter, what was found and what was expected.
Result<TorchSettings> read_settings(const ModelDescription& model,
                                    const std::map<std::string, std::string>& backend_settings,
                                    int64_t intra_op_threads) noexcept;

/// What PyTorch has once a process: INTER_OP_THREAD_COUNT, ENABLE_JIT_EXECUTOR, ENABLE_JIT_PROFILING and
/// ENABLE_TENSOR_FUSER. Whoever says one of them first is followed; a model that says otherwise later gets a warning. [any]
/// Errors: as read_settings().
Status apply_process_settings(const ModelDescription& model, Log& log) noexcept;

}  // namespace atl::pytorch
