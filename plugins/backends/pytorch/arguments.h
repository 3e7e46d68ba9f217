/// From requests' inputs to what forward() takes.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "backends/pytorch/signature.h"

namespace atl::pytorch {

/// The arguments of forward() behind self, for checked requests that can be joined. The tensors own their memory.
/// \param weight  the sum of the requests' batch sizes, if the model batches
/// Errors: INVALID_ARGUMENT bytes that are no elements, totals that no tensor holds; RESOURCE_EXHAUSTED.
Result<std::vector<c10::IValue>> make_arguments(const TorchModelPlan& plan,
                                                std::span<Request* const> requests, uint32_t weight) noexcept;

}  // namespace atl::pytorch
