/// Model configurations against signatures: completing what is left out, refusing what contradicts.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/core/status.h"
#include "backends/tensorflow/graph/tf_signature.h"
#include "model_config.pb.h"

namespace atl::tensorflow {

/// Whether nothing is left out, so that the model's file need not be read.
bool has_all_tensors(const inference::ModelConfig& config) noexcept;

/// Fills in max_batch_size, dynamic batching, and inputs and outputs from the signature of a SavedModel.
///
/// A model batches if every tensor of known rank begins with a dimension of any size, unless the shapes that the configuration has
/// written say that it does not: with as many dimensions as the model, instead of one less. max_batch_size then becomes
/// default_max_batch_size unless it is written.
/// Errors: INVALID_ARGUMENT a written max_batch_size > 0 for a model that cannot batch; shapes of both kinds.
Status complete_from_signature(inference::ModelConfig& config, const TfSignature& signature,
                               int64_t default_max_batch_size) noexcept;

/// Checks a complete configuration: names, data types, shapes, and that every input of the model is given.
/// \param optional  of the signature's inputs, those that need not be given
/// Errors: INVALID_ARGUMENT names the tensor, what the model has and what the configuration says.
Status check_against_signature(const inference::ModelConfig& config, const TfSignature& signature,
                               const std::vector<std::string>& optional) noexcept;

}  // namespace atl::tensorflow
