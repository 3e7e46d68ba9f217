#include "backends/onnxruntime/request_check.h"

namespace atl::ort {
namespace {

/// \param what, name  the tensor that the source is for
Status check_source(std::string_view source, std::string_view what, std::string_view name,
                    const Request& request) {
  if (request.find_input(source) != nullptr) return {};
  return invalid_argument(what, " '", name, "': found no input '", source,
                          "' in the request, expected one: its shape is needed");
}

}  // namespace

Status check_request(const OnnxModelPlan& model, const Request& request, bool check_elements,
                     bool on_gpu) noexcept {
  for (const OnnxInputPlan& plan : model.inputs) {
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
    ATOLL_RETURN_IF_ERROR(
        backends::check_input(plan, *input, request, model.batches, check_elements, on_gpu));
  }
  for (const OnnxOutputPlan& plan : model.outputs) {
    if (!plan.scatter || request.find_output(plan.name) == nullptr) continue;
    ATOLL_RETURN_IF_ERROR(check_source(plan.scatter->source, "output", plan.name, request));
  }
  return {};
}

bool joinable(const OnnxModelPlan& model, const Request& a, const Request& b) noexcept {
  if (!model.batches) return false;
  bool any = false;  // without an input nothing would tell the model the size of the batch
  for (const OnnxInputPlan& plan : model.inputs) {
    if (plan.batch_input >= 0) continue;
    if (!backends::can_be_joined(plan, a, b)) return false;
    any = any || a.find_input(plan.name) != nullptr;
  }
  return any;
}

}  // namespace atl::ort
