/// Writes out the defaults that depend on other fields.
#pragma once

#include "model_config.pb.h"

namespace atl::pbtxt {

/// Version policy, preferred batch sizes, idle time of sequences, pinned memory. Applying it twice changes
/// nothing more. Instance groups are normalised apart (instance_groups.h), when the backend is known.
/// Source: model configuration, "Normalisation".
void normalise(inference::ModelConfig* config);

}  // namespace atl::pbtxt
