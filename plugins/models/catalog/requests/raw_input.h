/// Raw requests: one input that came as bytes alone; name, type and shape follow from the configuration.
#pragma once

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"

namespace atl::models {

/// Completes the request's raw input, if it has one; afterwards it is an input like others. Errors: INVALID_ARGUMENT with the protocols' texts.
Status complete_raw_input(Request& request, const ModelInfo& info) noexcept;

}  // namespace atl::models
