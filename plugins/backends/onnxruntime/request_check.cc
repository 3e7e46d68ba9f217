#include "backends/onnxruntime/request_check.h"

#include <algorithm>

#include "atoll/backend/values.h"
#include "backends/onnxruntime/string_tensor.h"

namespace atl::ort {
namespace {

bool in_host_memory(const InputTensor& input) {
  return std::ranges::all_of(input.buffers,
                             [](const Buffer& buffer) { return backends::is_host_memory(buffer.kind); });
}

Status check_input(const InputPlan& plan, const InputTensor& input, const Request& request, bool batches,
                   bool check_elements, bool on_gpu) {
  if (input.datatype != plan.datatype) {
    return invalid_argument("input '", plan.name, "': found datatype ", data_type_name(input.datatype),
                            ", expected ", data_type_name(plan.datatype));
  }
  auto count = element_count(input.shape);
  uint64_t expected = 0;
  if (!count ||
      __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(plan.datatype), &expected)) {
    return invalid_argument("input '", plan.name, "': found shape ", shape_text(input.shape),
                            ", expected dimensions of 0 or more whose product fits into 63 bits");
  }
  if (batches && (input.shape.empty() || input.shape[0] != request.batch_weight())) {
    return invalid_argument("input '", plan.name, "': found shape ", shape_text(input.shape),
                            ", expected the batch size ", request.batch_weight(), " as first dimension");
  }
  if (plan.scalar && *count != 1) {
    return invalid_argument("input '", plan.name, "': found shape ", shape_text(input.shape),
                            ", expected one element");
  }
  const bool anywhere = on_gpu && plan.datatype != DataType::kBytes;
  if (!anywhere && !in_host_memory(input)) {
    return invalid_argument("input '", plan.name, "': found GPU memory, expected CPU memory");
  }
  for (const Buffer& buffer : input.buffers) ATOLL_RETURN_IF_ERROR(wait_until_ready(buffer));
  uint64_t present = bytes_present(input);
  if (plan.datatype != DataType::kBytes) {
    if (present == expected) return {};
    return invalid_argument("input '", plan.name, "': found ", present, " bytes, expected ", expected,
                            " for shape ", shape_text(input.shape));
  }
  // Before memory for the elements is taken: each needs at least its length.
  if (present / 4 < static_cast<uint64_t>(*count)) {
    return invalid_argument("input '", plan.name, "': found ", present,
                            " bytes, expected at least 4 for each of ", *count, " elements");
  }
  return check_elements ? check_strings(static_cast<size_t>(*count), input) : Status();
}

/// \param what, name  the tensor that the source is for
Status check_source(std::string_view source, std::string_view what, std::string_view name,
                    const Request& request) {
  if (request.find_input(source) != nullptr) return {};
  return invalid_argument(what, " '", name, "': found no input '", source,
                          "' in the request, expected one: its shape is needed");
}

}  // namespace

uint64_t bytes_present(const InputTensor& input) noexcept {
  uint64_t sum = 0;
  for (const Buffer& buffer : input.buffers) sum += buffer.size_bytes;
  return sum;
}

Status check_request(const ModelPlan& model, const Request& request, bool check_elements,
                     bool on_gpu) noexcept {
  for (const InputPlan& plan : model.inputs) {
    if (plan.batch_input >= 0) {
      ATOLL_RETURN_IF_ERROR(check_source(model.batch_inputs[static_cast<size_t>(plan.batch_input)].source,
                                         "input", plan.name, request));
      continue;
    }
    const InputTensor* input = request.find_input(plan.name);
    if (input == nullptr) {
      if (!plan.required) continue;
      return invalid_argument("input '", plan.name, "': found none, expected one: the model '",
                              model.model_name, "' has no default for it");
    }
    ATOLL_RETURN_IF_ERROR(check_input(plan, *input, request, model.batches, check_elements, on_gpu));
  }
  for (const OutputPlan& plan : model.outputs) {
    if (!plan.scatter || request.find_output(plan.name) == nullptr) continue;
    ATOLL_RETURN_IF_ERROR(check_source(plan.scatter->source, "output", plan.name, request));
  }
  return {};
}

bool joinable(const ModelPlan& model, const Request& a, const Request& b) noexcept {
  if (!model.batches) return false;
  bool any = false;  // without an input nothing would tell the model the size of the batch
  for (const InputPlan& plan : model.inputs) {
    if (plan.batch_input >= 0) continue;
    const InputTensor* in_a = a.find_input(plan.name);
    const InputTensor* in_b = b.find_input(plan.name);
    if ((in_a == nullptr) != (in_b == nullptr)) return false;
    if (in_a == nullptr) continue;
    any = true;
    if (in_a->shape.size() != in_b->shape.size()) return false;
    if (!plan.ragged && !std::ranges::equal(in_a->shape.subspan(1), in_b->shape.subspan(1))) return false;
  }
  return any;
}

}  // namespace atl::ort
