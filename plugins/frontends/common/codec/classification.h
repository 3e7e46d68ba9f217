/// The classification extension: a tensor's highest values as texts "value:index:label".
#pragma once

#include <cstdint>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"

namespace atl::frontends {

/// Most elements of a tensor that may be classified.
inline constexpr int64_t kMaxClassificationElements = 1'000'000;

/// Replaces the output by its `count` highest values for each batch item: a BYTES tensor [batch, n], or [n]
/// for a model that does not batch; n is at most the number of elements of an item. Highest first; equal
/// values in the order of their indices; NaN last. Floats are printed with six decimals. Memory is the
/// response's arena. Errors: INVALID_ARGUMENT a type that has no order (BYTES, BOOL, FP16, BF16), more than
/// kMaxClassificationElements; INTERNAL the buffer is smaller than the shape says.
Status classify(const ModelInfo& model, Response& response, OutputTensor& output, uint32_t count) noexcept;

/// Applies classify() to every output that the request wants classified.
Status classify_outputs(const ModelInfo& model, const Request& request, Response& response) noexcept;

}  // namespace atl::frontends
