/// Raw requests: one input that came as bytes alone; name, type and shape follow from the configuration.
#pragma once

#include "atoll/model.h"
#include "atoll/request.h"
#include "atoll/status.h"

namespace atl::models {

/// Completes the request's raw input, if it has one. Errors: INVALID_ARGUMENT with the protocols' texts.
Status complete_raw_input(Request& request, const ModelInfo& info) noexcept;

}  // namespace atl::models
