/// Outputs of an ensemble that say no label file have the labels of the member's output that feeds them.
#pragma once

#include <span>

#include "atoll/models/model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// \param members  one for each step
void inherit_labels(const inference::ModelConfig& config, std::span<Model* const> members, ModelInfo* info);

}  // namespace atl::models
