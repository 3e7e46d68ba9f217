#include "backends/pytorch/signature.h"

#include <ATen/core/function_schema.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>

#include "backends/pytorch/datatypes.h"

namespace atl::pytorch {
namespace {

/// A tensor of the configuration: an input, output or state.
struct Named {
  std::string name;
  DataType datatype = DataType::kInvalid;
  bool optional = false;
  bool state = false;
  bool scalar = false;
};

template <class Tensor>
bool may_be_scalar(const Tensor& tensor, bool batches) {
  return !batches && !tensor.has_reshape() && tensor.dims_size() == 1 && tensor.dims(0) == 1;
}

std::vector<Named> inputs_of(const inference::ModelConfig& config) {
  std::vector<Named> inputs;
  for (const auto& input : config.input()) {
    inputs.push_back({.name = input.name(),
                      .datatype = backends::data_type_of(input.data_type()),
                      .optional = input.optional()});
  }
  const auto& sequences = config.sequence_batching();
  for (const auto& control : sequences.control_input()) {
    if (control.control().empty()) continue;
    const auto& first = control.control(0);
    DataType type = DataType::kInt32;
    if (first.fp32_false_true_size() != 0) type = DataType::kFp32;
    if (first.bool_false_true_size() != 0) type = DataType::kBool;
    if (first.data_type() != inference::TYPE_INVALID) type = backends::data_type_of(first.data_type());
    inputs.push_back({.name = control.name(), .datatype = type});
  }
  for (const auto& state : sequences.state()) {
    inputs.push_back(
        {.name = state.input_name(), .datatype = backends::data_type_of(state.data_type()), .state = true});
  }
  return inputs;
}

std::vector<Named> outputs_of(const inference::ModelConfig& config) {
  std::vector<Named> outputs;
  const bool batches = config.max_batch_size() > 0;
  for (const auto& output : config.output()) {
    outputs.push_back({.name = output.name(),
                       .datatype = backends::data_type_of(output.data_type()),
                       .scalar = may_be_scalar(output, batches)});
  }
  for (const auto& state : config.sequence_batching().state()) {
    const auto known = std::ranges::find(outputs, state.output_name(), &Named::name);
    if (known != outputs.end()) {
      known->state = true;
    } else {
      outputs.push_back({.name = state.output_name(),
                         .datatype = backends::data_type_of(state.data_type()),
                         .state = true});
    }
  }
  return outputs;
}

/// "INPUT__1" is 1.
std::optional<uint32_t> index_of(std::string_view name) {
  const size_t at = name.rfind("__");
  if (at == std::string_view::npos || at + 2 == name.size()) return std::nullopt;
  uint32_t index = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + at + 2, end, index);
  return error == std::errc() && rest == end ? std::optional(index) : std::nullopt;
}

/// Positions by "__<index>" where all names have one, else by their order.
std::vector<uint32_t> positions_by_index(const std::vector<Named>& tensors) {
  std::vector<uint32_t> positions;
  for (const Named& tensor : tensors) {
    const std::optional<uint32_t> index = index_of(tensor.name);
    if (!index) break;
    positions.push_back(*index);
  }
  if (positions.size() != tensors.size()) {
    positions.resize(tensors.size());
    std::iota(positions.begin(), positions.end(), 0);
  }
  return positions;
}

Status check_positions(const std::vector<Named>& tensors, const std::vector<uint32_t>& positions,
                       size_t count, std::string_view what) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (positions[i] >= count) {
      return invalid_argument(what, " '", tensors[i].name, "': found position ", positions[i],
                              ", expected one of the ", count, " arguments of forward()");
    }
    for (size_t j = 0; j < i; ++j) {
      if (positions[i] == positions[j]) {
        return invalid_argument(what, "s '", tensors[j].name, "' and '", tensors[i].name,
                                "' both have position ", positions[i]);
      }
    }
  }
  return {};
}

/// The arguments of forward() without self.
std::vector<c10::Argument> arguments_of(const torch::jit::Module& module) {
  const auto& all = module.get_method("forward").function().getSchema().arguments();
  return {all.begin() + 1, all.end()};
}

bool is_optional(const c10::Argument& argument) {
  return argument.type()->kind() == c10::TypeKind::OptionalType;
}

/// Of Optional[T] T.
c10::TypePtr plain_type(const c10::Argument& argument) {
  return is_optional(argument) ? argument.type()->expectRef<c10::OptionalType>().getElementType()
                               : argument.type();
}

bool is_list_of(const c10::TypePtr& type, c10::TypeKind element) {
  return type->kind() == c10::TypeKind::ListType &&
         type->expectRef<c10::ListType>().getElementType()->kind() == element;
}

InputForm form_of(const std::vector<c10::Argument>& arguments) {
  if (arguments.size() != 1) return InputForm::kArguments;
  const c10::TypePtr type = plain_type(arguments[0]);
  if (type->kind() == c10::TypeKind::DictType) return InputForm::kDictionary;
  return is_list_of(type, c10::TypeKind::TensorType) ? InputForm::kList : InputForm::kArguments;
}

std::string names_of(const std::vector<c10::Argument>& arguments) {
  std::string names;
  for (const c10::Argument& argument : arguments) names += cat(names.empty() ? "" : ", ", argument.name());
  return names;
}

/// By the arguments' names where all inputs have such, else by index or order.
std::vector<uint32_t> positions_of(const std::vector<Named>& inputs,
                                   const std::vector<c10::Argument>& arguments) {
  std::vector<uint32_t> positions;
  for (const Named& input : inputs) {
    const auto found =
        std::ranges::find_if(arguments, [&](const c10::Argument& one) { return one.name() == input.name; });
    if (found == arguments.end()) return positions_by_index(inputs);
    positions.push_back(static_cast<uint32_t>(found - arguments.begin()));
  }
  return positions;
}

Status check_type(const Named& tensor, std::string_view what) {
  if (tensor.datatype == DataType::kBytes || to_torch(tensor.datatype)) return {};
  return invalid_argument(
      what, " '", tensor.name, "': found datatype ", data_type_name(tensor.datatype),
      ", expected one that PyTorch has: BOOL, UINT8, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64, "
      "or BYTES for List[str]");
}

Status plan_argument(const Named& input, const c10::Argument& argument, TorchInputPlan& plan) {
  const c10::TypePtr type = plain_type(argument);
  plan.texts = is_list_of(type, c10::TypeKind::StringType);
  plan.rule.required = !is_optional(argument) && !argument.default_value();
  if (plan.texts != (input.datatype == DataType::kBytes) ||
      (!plan.texts && type->kind() != c10::TypeKind::TensorType)) {
    return invalid_argument("input '", input.name, "': found datatype ", data_type_name(input.datatype),
                            " for argument '", argument.name(), "' of type ", argument.type()->str(),
                            ", expected Tensor, or List[str] for BYTES");
  }
  if (input.optional && plan.rule.required) {
    return invalid_argument("input '", input.name, "' is optional in the configuration, argument '",
                            argument.name(),
                            "' of forward() is not: expected Optional[Tensor], or a default");
  }
  return {};
}

Status plan_inputs(const inference::ModelConfig& config, const torch::jit::Module& module,
                   TorchModelPlan& plan) {
  const std::vector<Named> inputs = inputs_of(config);
  const std::vector<c10::Argument> arguments = arguments_of(module);
  plan.form = form_of(arguments);
  const bool one_by_one = plan.form == InputForm::kArguments;
  for (const c10::Argument& argument : arguments)
    plan.stand_ins.push_back(argument.default_value().value_or(c10::IValue()));
  const auto positions = one_by_one ? positions_of(inputs, arguments) : positions_by_index(inputs);
  if (plan.form != InputForm::kDictionary) {
    ATOLL_RETURN_IF_ERROR(
        check_positions(inputs, positions, one_by_one ? arguments.size() : inputs.size(), "input"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    ATOLL_RETURN_IF_ERROR(check_type(inputs[i], "input"));
    TorchInputPlan& input = plan.inputs.emplace_back();
    input.rule.name = inputs[i].name;
    input.rule.datatype = inputs[i].datatype;
    input.position = positions[i];
    if (one_by_one) {
      ATOLL_RETURN_IF_ERROR(plan_argument(inputs[i], arguments[positions[i]], input));
    } else if (inputs[i].datatype == DataType::kBytes || inputs[i].optional) {
      return invalid_argument(
          "input '", inputs[i].name, "': found ", inputs[i].optional ? "an optional input" : "BYTES",
          ", expected tensors that are always there: forward() takes them as ", arguments[0].type()->str());
    }
  }
  for (uint32_t position = 0; one_by_one && position < arguments.size(); ++position) {
    const c10::Argument& argument = arguments[position];
    if (argument.default_value() || is_optional(argument)) continue;
    if (std::ranges::find(positions, position) == positions.end()) {
      return invalid_argument("found no input for argument '", argument.name(), "' of forward(",
                              names_of(arguments),
                              "): inputs are named as the arguments, or <name>__<index>, or in their order");
    }
  }
  return {};
}

}  // namespace

Result<TorchModelPlan> make_plan(const inference::ModelConfig& config, const torch::jit::Module& module) {
  TorchModelPlan plan;
  plan.model_name = config.name();
  plan.batches = config.max_batch_size() > 0;
  plan.decoupled = config.model_transaction_policy().decoupled();
  if (!module.find_method("forward")) return invalid_argument("the model has no method forward()");
  if (config.batch_input_size() != 0 || config.batch_output_size() != 0) {
    return invalid_argument("batch_input and batch_output are not supported by this backend");
  }
  ATOLL_RETURN_IF_ERROR(plan_inputs(config, module, plan));
  const std::vector<Named> outputs = outputs_of(config);
  const std::vector<uint32_t> positions = positions_by_index(outputs);
  ATOLL_RETURN_IF_ERROR(check_positions(outputs, positions, UINT32_MAX, "output"));
  for (size_t i = 0; i < outputs.size(); ++i) {
    ATOLL_RETURN_IF_ERROR(check_type(outputs[i], "output"));
    plan.outputs.push_back(
        {outputs[i].name, outputs[i].datatype, positions[i], outputs[i].scalar, outputs[i].state});
  }
  return plan;
}

}  // namespace atl::pytorch
