/// Checks one model as the server does before it asks a backend.
#pragma once

#include <set>
#include <string>

#include "atoll/models/repository.h"
#include "problem.h"

namespace atl::config {

struct CheckOptions {
  bool strict =
      false;  ///< as with auto_complete_config = false: the configuration must be there and complete
  /// Names of the models beside this one; empty: it is looked at alone.
  std::set<std::string> siblings = {};
};

/// Everything that is wrong with the model, in the order of the text. GPUs are taken to be there.
ModelReport check_model(const RepositoryModel& model, const CheckOptions& options);

}  // namespace atl::config
