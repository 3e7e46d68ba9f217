/// Whether the members of an ensemble fit together, looked at when it loads.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "atoll/models/model.h"

namespace inference {
class ModelConfig;
}

namespace atl::ensemble {

/// Null: there is none of this name.
const TensorSpec* find_spec(const std::vector<TensorSpec>& specs, std::string_view name) noexcept;

/// Names, types, shapes and batch sizes of all steps.
/// \param members  one for each step
/// Errors: INVALID_ARGUMENT with the protocols' texts; the first that is found.
Status check_members(const inference::ModelConfig& config, std::span<Model* const> members);

}  // namespace atl::ensemble
