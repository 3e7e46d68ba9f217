/// Outputs of an ensemble that say no label file have the labels of the member's output that feeds them.
#pragma once

#include <functional>
#include <vector>

#include "atoll/model.h"
#include "models/catalog/serving/prepared_model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// The member as it serves; empty if it does not.
using FindMember = std::function<ModelRef(const EnsembleMember&)>;

/// \param members  one for each step
void inherit_labels(const inference::ModelConfig& config, const std::vector<EnsembleMember>& members,
                    const FindMember& find, ModelInfo* info);

}  // namespace atl::models
