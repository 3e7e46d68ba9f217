/// Where a model's batching strategy is.
#pragma once

#include <string>
#include <string_view>

#include "atoll/request/scheduler.h"
#include "model_config.pb.h"

namespace atl::schedulers {

/// The file named by the model's parameter TRITON_BATCH_STRATEGY_PATH, which has to be inside the model's
/// folder (a path that is not absolute is one from the server's working directory or, if there is nothing,
/// from the model's folder); else the first batchstrategy.so in the folders of the version, of the model, and
/// of the model's backend below `backend_directory` (empty: not searched). Empty: the model has none. Errors:
/// NOT_FOUND, INVALID_ARGUMENT the parameter's file is missing or elsewhere.
Result<std::string> find_strategy_file(const SchedulerContext& context, const inference::ModelConfig& config,
                                       std::string_view backend_directory);

}  // namespace atl::schedulers
