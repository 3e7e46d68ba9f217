/// Completing a configuration by a model's own auto_complete_config().
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "backends/python/model/model_program.h"
#include "backends/python/process/worker.h"

namespace atl::python {

/// Asks the model in a process of its own, which ends then. \param config  serialized; \returns the same with what was added
/// Errors: the function's own text; UNAVAILABLE its worker has ended, or cannot be started.
Result<std::string> auto_complete(const WorkerContext& context, const ModelProgram& program,
                                  const std::string& model, const std::string& config);

}  // namespace atl::python
