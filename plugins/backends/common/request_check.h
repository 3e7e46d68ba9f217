/// What a request must be like before a framework sees any of it, for models whose configuration can have batch inputs and batch outputs.
///
/// A model's plan has `batches`, `model_name`, `inputs` (InputRules with `batch_input`: the index in `batch_inputs`, or -1 if clients give
/// the input), `batch_inputs` (with `source`) and `outputs` (with `name` and `scatter`, which is null or has `source`).
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "backends/common/input_rules.h"

namespace atl::backends {

/// Errors: INVALID_ARGUMENT the request lacks the input `source`, whose shape the tensor is made from.
/// \param what, name  the tensor
inline Status check_source(std::string_view source, std::string_view what, std::string_view name,
                           const Request& request) {
  if (request.find_input(source) != nullptr) return {};
  return invalid_argument(what, " '", name, "': found no input '", source,
                          "' in the request, expected one: its shape is needed");
}

/// Every input that the model needs is there, as check_input() wants it; so is every input whose shape a batch input or a requested
/// output is made from.
/// \param check_elements, anywhere  as of check_input()
/// Errors: INVALID_ARGUMENT names the input, what was found and what was expected.
template <class Plan>
Status check_request(const Plan& model, const Request& request, bool check_elements, bool anywhere = false) {
  for (const auto& plan : model.inputs) {
    if (plan.batch_input >= 0) {
      const auto& made = model.batch_inputs[static_cast<size_t>(plan.batch_input)];
      ATOLL_RETURN_IF_ERROR(check_source(made.source, "input", plan.name, request));
      continue;
    }
    const InputTensor* input = request.find_input(plan.name);
    if (input == nullptr) {
      if (!plan.required) continue;
      return invalid_argument("input '", plan.name, "': found none, expected one: the model '",
                              model.model_name, "' has no default for it");
    }
    ATOLL_RETURN_IF_ERROR(check_input(plan, *input, request, model.batches, check_elements, anywhere));
  }
  for (const auto& plan : model.outputs) {
    if (!plan.scatter || request.find_output(plan.name) == nullptr) continue;
    ATOLL_RETURN_IF_ERROR(check_source(plan.scatter->source, "output", plan.name, request));
  }
  return {};
}

/// Whether the inputs of two checked requests can be laid out one after the other in one tensor each: the same inputs are given, and
/// all but ragged ones have equal shapes after the batch dimension.
template <class Plan>
bool joinable(const Plan& model, const Request& a, const Request& b) noexcept {
  if (!model.batches) return false;
  bool any = false;  // without an input nothing would tell the model the size of the batch
  for (const auto& plan : model.inputs) {
    if (plan.batch_input >= 0) continue;
    if (!can_be_joined(plan, a, b)) return false;
    any = any || a.find_input(plan.name) != nullptr;
  }
  return any;
}

}  // namespace atl::backends
