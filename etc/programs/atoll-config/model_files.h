/// The files that a configuration names: are they there, and long enough?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "atoll/models/repository.h"
#include "model_config.pb.h"

namespace atl::config {

/// Takes the field and what is wrong.
using Tell = std::function<void(const std::string& field, const std::string& text)>;

/// Looks at sizes and types of files in the model's directory; opens none. Names that lead out of it are left
/// to the rules. \param versions  those that are served.
void check_model_files(const inference::ModelConfig& config, const RepositoryModel& model,
                       const std::vector<RepositoryVersion>& versions, const Tell& report);

}  // namespace atl::config
