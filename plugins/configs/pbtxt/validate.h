/// The rules a configuration must meet. Every function returns the first rule broken, as INVALID_ARGUMENT
/// unless noted, with the text that clients of Triton know as the message and the place as the note.
/// Source: model configuration, "Validation and exact error texts".
#pragma once

#include <string>

#include "atoll/status.h"
#include "model_config.pb.h"
#include "source_map.h"

namespace atl::pbtxt {

/// All rules that hold at any time: general, scheduling, ensemble, metrics, in the reference's order; then
/// those of Atoll: paths, limits, sequence states, rate limiter, warm-up.
Status validate_model(const inference::ModelConfig& config, const SourceMap& source);

/// Rules that hold once the configuration is complete: inputs and outputs, batch inputs and outputs, warm-up
/// batches.
Status validate_complete(const inference::ModelConfig& config, const SourceMap& source);

/// The parts of validate_model().
Status validate_dynamic_batching(const inference::ModelConfig& config, const SourceMap& source);
Status validate_sequence_batching(const inference::ModelConfig& config, const SourceMap& source);
Status validate_sequence_states(const inference::ModelConfig& config, const SourceMap& source);
Status validate_ensemble(const inference::ModelConfig& config, const SourceMap& source);
Status validate_metrics(const inference::ModelConfig& config, const SourceMap& source);
/// Errors: INVALID_ARGUMENT; UNIMPLEMENTED for a label file outside the model directory.
Status validate_paths(const inference::ModelConfig& config, const SourceMap& source);
Status validate_limits(const inference::ModelConfig& config, const SourceMap& source);
Status validate_rate_limiter(const inference::ModelConfig& config, const SourceMap& source);
Status validate_warmup(const inference::ModelConfig& config, const SourceMap& source);

/// The parts of validate_complete().
Status validate_tensors(const inference::ModelConfig& config, const SourceMap& source);
Status validate_batch_tensors(const inference::ModelConfig& config, const SourceMap& source);
Status validate_warmup_batches(const inference::ModelConfig& config, const SourceMap& source);

}  // namespace atl::pbtxt
