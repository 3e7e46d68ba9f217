/// What the rules allow and hardly anybody means.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model_config.pb.h"
#include "problem.h"

namespace atl::config {

/// Takes the field and the text of a warning.
using Warn = std::function<void(const std::string& field, const std::string& text)>;

/// ", did you mean 'x'?" for a name that is near a known one; else empty.
std::string meant(const std::string& name, const std::vector<std::string>& known);

/// \param siblings  the models of the repository; empty: not known.
void advise(const inference::ModelConfig& config, const std::set<std::string>& siblings, const Warn& warn);

}  // namespace atl::config
