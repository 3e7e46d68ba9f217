/// The plain form of a configuration, for those who hold the message.
#pragma once

#include "atoll/models/model_description.h"

namespace inference {
class ModelConfig;
}

namespace atl::proto {

/// A negative max_batch_size counts as 0.
ModelDescription describe_model(const inference::ModelConfig& config);

}  // namespace atl::proto
