/// The implicit state that a ModelConfig asks for.
#pragma once

#include <string>

#include "schedulers/common/state/state_layout.h"

namespace inference {
class ModelConfig;
}  // namespace inference

namespace atl::schedulers {

/// The entries of `sequence_batching.state`, none if there are none. Reads the files of initial states
/// (`<model directory>/initial_state/<data_file>`), for a model that loads. Of a file that is larger than its
/// state the first bytes count, as with Triton; where the state is texts, as many of them as it has. Variable
/// dimensions are 1 in the beginning where no `initial_state` says more. [worker]
/// Errors: NOT_FOUND a file is not there or cannot be read; INVALID_ARGUMENT it is too small, or the
/// configuration contradicts itself; RESOURCE_EXHAUSTED no memory for its bytes.
Result<StateLayout> state_layout_from(const inference::ModelConfig& config,
                                      const std::string& model_directory) noexcept;

}  // namespace atl::schedulers
