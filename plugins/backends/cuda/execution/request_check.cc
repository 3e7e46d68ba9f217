#include "backends/cuda/execution/request_check.h"

#include <algorithm>
#include <optional>
#include <span>

#include "backends/common/input_rules.h"

namespace atl::cuda_backend {
namespace {

bool fits(std::span<const int64_t> shape, std::span<const int64_t> dims) {
  return std::equal(shape.begin(), shape.end(), dims.begin(), dims.end(),
                    [](int64_t found, int64_t expected) { return expected < 0 || found == expected; });
}

Status check_shape(const ModelPlan& plan, const InputPlan& input, const InputTensor& tensor,
                   const Request& request) {
  const auto& dims = plan.pipeline.table.tensors[input.slot].dims;
  if (!input.ragged && !fits(tensor.shape, dims)) {
    return invalid_argument("input '", input.name, "': found shape ", shape_text(tensor.shape), ", expected ",
                            shape_text(dims));
  }
  if (plan.batches() && (tensor.shape.empty() || tensor.shape[0] != request.batch_weight())) {
    return invalid_argument("input '", input.name, "': found shape ", shape_text(tensor.shape),
                            ", expected the batch size ", request.batch_weight(), " as first dimension");
  }
  return {};
}

Status check_bytes(const InputPlan& input, const InputTensor& tensor) {
  const std::optional<int64_t> count = element_count(tensor.shape);
  uint64_t expected = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(input.datatype),
                                       &expected)) {
    return invalid_argument("input '", input.name, "': found shape ", shape_text(tensor.shape),
                            ", expected dimensions of 0 or more whose product fits into 63 bits");
  }
  uint64_t present = 0;
  for (const Buffer& buffer : tensor.buffers) {
    if (__builtin_add_overflow(present, buffer.size_bytes, &present)) present = UINT64_MAX;
  }
  if (present == expected) return {};
  return invalid_argument("input '", input.name, "': found ", present, " bytes, expected ", expected,
                          " for shape ", shape_text(tensor.shape));
}

Status check_input(const ModelPlan& plan, const InputPlan& input, const Request& request) {
  const InputTensor* tensor = request.find_input(input.name);
  if (tensor == nullptr) {
    if (input.optional) return {};
    return invalid_argument("input '", input.name, "': found none, expected one");
  }
  if (tensor->datatype != input.datatype) {
    return invalid_argument("input '", input.name, "': found datatype ", data_type_name(tensor->datatype),
                            ", expected ", data_type_name(input.datatype));
  }
  ATOLL_RETURN_IF_ERROR(check_shape(plan, input, *tensor, request));
  return check_bytes(input, *tensor);
}

}  // namespace

Status check_request(const ModelPlan& plan, const Request& request) noexcept {
  for (const InputPlan& input : plan.inputs) {
    if (input.batch_input < 0) ATOLL_RETURN_IF_ERROR(check_input(plan, input, request));
  }
  return {};
}

bool joinable(const ModelPlan& plan, const Request& a, const Request& b) noexcept {
  if (!plan.batches()) return false;
  for (const InputPlan& input : plan.inputs) {
    if (input.batch_input >= 0) continue;
    if (!backends::can_be_joined(input.name, input.ragged, a, b)) return false;
  }
  return true;
}

}  // namespace atl::cuda_backend
