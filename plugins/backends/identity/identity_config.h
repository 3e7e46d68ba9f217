/// What the identity backend needs to know of a model's configuration, and whether it can serve it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"

namespace atl::identity {

inline constexpr std::string_view kInputPrefix = "INPUT";
inline constexpr std::string_view kOutputPrefix = "OUTPUT";

struct IdentityConfig {
  int64_t execute_delay_ms = 0;
  bool decoupled = false;
  std::vector<TensorSpec> optional_inputs;
};

/// Every output must be named OUTPUT<x>, with an input INPUT<x> of the same type and of dimensions that are
/// the same, or -1 on the output's side. Inputs without an output are read by nobody.
/// Errors: INVALID_ARGUMENT names the tensor or the parameter, what was found and what was expected.
Result<IdentityConfig> read_identity_config(const ModelDescription& model);

}  // namespace atl::identity
