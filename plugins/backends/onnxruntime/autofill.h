/// Model configurations against ONNX files: completing what is left out, refusing what contradicts.
#pragma once

#include <cstdint>

#include "atoll/core/status.h"
#include "backends/onnxruntime/signature.h"
#include "model_config.pb.h"

namespace atl::ort {

/// True if inputs and outputs are written, so that there is nothing to complete and no need to open the
/// model.
bool is_complete(const inference::ModelConfig& config) noexcept;

/// Fills in max_batch_size, dynamic batching and missing lists of inputs and outputs from the model.
///
/// A model can batch if every input and output has a variable first dimension. max_batch_size then becomes
/// default_max_batch_size unless it is written (one written as 0 looks as if it were not).
/// Errors: INVALID_ARGUMENT a written max_batch_size > 0 for a model that cannot batch; a tensor of a type
/// that the protocol has no name for.
Status complete(inference::ModelConfig& config, const Signature& signature,
                int64_t default_max_batch_size) noexcept;

/// Checks a complete configuration against the model: names, data types, shapes.
/// Errors: INVALID_ARGUMENT names the tensor, what the model has and what the configuration says.
Status check_against_model(const inference::ModelConfig& config, const Signature& signature) noexcept;

}  // namespace atl::ort
