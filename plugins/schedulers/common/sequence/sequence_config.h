/// What `sequence_batching` of a ModelConfig says, in the words of the parts of a scheduler of sequences.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "schedulers/common/sequence/sequence_scheduler.h"

namespace inference {
class ModelConfig;
}

namespace atl::schedulers {

/// What is the same for all strategies; strategy, figures, log and the operator's limits are the caller's.
/// `limits.slots_each` is that of a strategy without candidates: as many as the batch has rows.
/// Reads the files of initial states. [worker]
/// Errors: INVALID_ARGUMENT a control of a type or with values that it cannot have; those of
/// state_layout_from().
Result<SequenceSettings> sequence_settings_from(const inference::ModelConfig& config,
                                                const std::string& model_directory);

}  // namespace atl::schedulers
