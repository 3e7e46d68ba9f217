/// The rules a configuration must meet. Broken ones are found in the reference's order, with the texts that
/// clients of Triton know. Source: model configuration, "Validation and exact error texts".
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "configs/pbtxt/checks/findings.h"
#include "configs/pbtxt/source_map.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// All rules that hold at any time: general, scheduling, ensemble, metrics; then those of Atoll: paths,
/// limits, sequence states, rate limiter, warm-up.
void validate_model(const inference::ModelConfig& config, Findings& findings);

/// Rules that hold once the configuration is complete: inputs and outputs, batch inputs and outputs, warm-up
/// batches.
void validate_complete(const inference::ModelConfig& config, Findings& findings);

/// Whether a backend of that name may put other inputs and outputs in place of those that were written. Until it has been
/// asked, a broken rule of validate_complete() is no mistake.
bool may_replace_tensors(std::string_view backend);

/// The first rule broken.
Status validate_model(const inference::ModelConfig& config, const SourceMap& source);
Status validate_complete(const inference::ModelConfig& config, const SourceMap& source);

/// The parts of validate_model().
void validate_dynamic_batching(const inference::ModelConfig& config, Findings& findings);
void validate_sequence_batching(const inference::ModelConfig& config, Findings& findings);
void validate_sequence_states(const inference::ModelConfig& config, Findings& findings);
void validate_ensemble(const inference::ModelConfig& config, Findings& findings);
void validate_metrics(const inference::ModelConfig& config, Findings& findings);
/// UNIMPLEMENTED for a label file outside the model directory.
void validate_paths(const inference::ModelConfig& config, Findings& findings);
void validate_limits(const inference::ModelConfig& config, Findings& findings);
void validate_rate_limiter(const inference::ModelConfig& config, Findings& findings);
void validate_warmup(const inference::ModelConfig& config, Findings& findings);

/// The parts of validate_complete().
void validate_tensors(const inference::ModelConfig& config, Findings& findings);
void validate_batch_tensors(const inference::ModelConfig& config, Findings& findings);
void validate_warmup_batches(const inference::ModelConfig& config, Findings& findings);

}  // namespace atl::pbtxt
