/// Which backend loads a model.
#pragma once

#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/registry.h"

namespace atl::models {

struct ChosenBackend {
  std::string instance;
  Service<Backend> service;
};

/// The instance of that name; where there is none, the one of highest rank that serves the model all the same.
/// \param name  the configuration's `backend`
/// Errors: INVALID_ARGUMENT there is none; UNAVAILABLE it is going; what a backend says why it does not serve it.
Result<ChosenBackend> choose_backend(Registry& registry, const ModelSource& source, const std::string& name);

}  // namespace atl::models
