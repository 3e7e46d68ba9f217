/// Configurations that are completed from a model's file, as Triton completes them.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "atoll/backend/backend.h"
#include "atoll/core/status.h"
#include "model_config.pb.h"

namespace atl::backends {

/// The backend setting "default-max-batch-size"; 4 if there is none. Errors: INVALID_ARGUMENT it is no integer.
Result<int64_t> default_max_batch_size(const ModelSource& source);

/// INVALID_ARGUMENT "autofill failed for model '<m>': <reason>"
Status completion_error(const inference::ModelConfig& config, std::string_view reason);

/// Writes max_batch_size where there is none, and dynamic_batching where the model batches and no scheduler is named.
/// \param can_batch     whether the model takes several rows
/// \param default_size  for models that batch; 0: they do not
/// \param most          rows that the model takes
/// Errors: INVALID_ARGUMENT the configuration has a batch size, and the model cannot batch.
Status complete_max_batch_size(inference::ModelConfig& config, bool can_batch, int64_t default_size,
                               int64_t most = std::numeric_limits<int32_t>::max());

/// Whether the tensor is one that the scheduler of sequences gives the model, and no client.
bool is_schedulers_input(const inference::ModelConfig& config, std::string_view input);

}  // namespace atl::backends
