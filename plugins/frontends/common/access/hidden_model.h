/// What is told of a model that the caller may not see.
#pragma once

#include <string_view>

#include "atoll/core/status.h"

namespace atl::frontends {

/// As ModelCatalog::acquire() says of a name that no model has.
inline Status unknown_model_status(std::string_view name) noexcept {
  return not_found("Request for unknown model: '", name, "' is not found");
}

/// As ModelCatalog::statistics() does.
inline Status model_without_statistics(std::string_view name) noexcept {
  return invalid_argument("requested model '", name, "' is not available");
}

}  // namespace atl::frontends
