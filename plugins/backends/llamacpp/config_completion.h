/// The configuration of a model, from its file: tensors and what the file says.
#pragma once

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "backends/llamacpp/engine/gguf_facts.h"
#include "model_config.pb.h"

namespace atl::llamacpp {

/// Fills in what is missing: inputs, outputs, decoupled, and parameters gguf_* that show what the file says. A second call changes nothing.
void complete_llama_config(inference::ModelConfig& config, const GgufFacts& facts, Pooling pooling);

/// Checks that the model has only tensors that this backend knows, of the right types.
/// Errors: INVALID_ARGUMENT names the tensor, what was found and what was expected.
Status check_llama_config(const ModelDescription& model, const GgufFacts& facts, Pooling pooling);

}  // namespace atl::llamacpp
