/// Whether requests fit the model, and which of them can be one batch.
#pragma once

#include "atoll/request/request.h"
#include "backends/cuda/pipeline/model_plan.h"

namespace atl::cuda_backend {

/// Errors: INVALID_ARGUMENT an input is missing, or has another type, shape or number of bytes than the model's.
Status check_request(const ModelPlan& plan, const Request& request) noexcept;

/// Whether both can be run at once. Both were checked.
bool joinable(const ModelPlan& plan, const Request& a, const Request& b) noexcept;

}  // namespace atl::cuda_backend
