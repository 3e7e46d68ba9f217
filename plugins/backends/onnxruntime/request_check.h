/// What a request must be like before ONNX Runtime sees any of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/request/request.h"
#include "backends/onnxruntime/onnx_model.h"

namespace atl::ort {

/// Every input that the model needs is there, of its type, in memory that the instance can use, with as many bytes as its shape
/// says and, if the model batches, the request's batch size as first dimension; so is every input whose shape
/// a batch input or a requested output is made from. Other dimensions are left to ONNX Runtime.
/// \param check_elements  walk through BYTES, too, instead of finding out when they are converted
/// \param on_gpu          the instance runs on a GPU, so that inputs other than BYTES may be in memory of GPUs
/// Errors: INVALID_ARGUMENT names the input, what was found and what was expected.
Status check_request(const OnnxModelPlan& model, const Request& request, bool check_elements,
                     bool on_gpu = false) noexcept;

/// Whether the inputs of two checked requests can be laid out one after the other in one tensor each: the
/// same inputs are given, and all but ragged ones have equal shapes after the batch dimension.
bool joinable(const OnnxModelPlan& model, const Request& a, const Request& b) noexcept;

}  // namespace atl::ort
