/// Whether ensembles fit the models that they are made of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "problem.h"

namespace atl::config {

/// Adds to each ensemble's report what the server would refuse when it loads it: tensors that a step's model
/// does not have, types and shapes that contradict each other, ensembles that contain each other.
/// \param reports  of one repository
/// \param others   reports of its other models that were looked at, for what ensembles need of them
void check_ensembles(std::vector<ModelReport>& reports, const std::vector<ModelReport>& others);

}  // namespace atl::config
