/// What foreign backends may fill in of a model's configuration.
#pragma once

#include "atoll/core/status.h"
#include "model_config.pb.h"

namespace atl::triton {

/// Takes over max_batch_size, inputs, outputs and whether it is decoupled; the choice of a scheduler where there is none
/// yet. All else of `given` is ignored. Errors: INTERNAL it chooses another scheduler than there is; nothing is taken
/// over then.
Status merge_config(const inference::ModelConfig& given, inference::ModelConfig* config);

}  // namespace atl::triton
