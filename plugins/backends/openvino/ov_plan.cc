#include "backends/openvino/ov_plan.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "atoll/core/text.h"
#include "backends/common/config_view.h"
#include "backends/openvino/autofill.h"

namespace atl::openvino {
namespace {

constexpr int64_t kAnyDim = -1;

/// An input that the model is given, by a client or by the scheduler.
struct GivenInput {
  std::string name;
  inference::DataType datatype = inference::TYPE_INVALID;  ///< invalid: as the model has it
  std::optional<std::vector<int64_t>> dims;                ///< nothing: as the model has them
};

std::vector<GivenInput> given_inputs(const inference::ModelConfig& config) {
  std::vector<GivenInput> given;
  for (const auto& input : config.input())
    given.push_back({input.name(), input.data_type(), backend_dims(input)});
  for (const auto& control : config.sequence_batching().control_input())
    given.push_back({control.name(), inference::TYPE_INVALID, std::nullopt});
  for (const auto& state : config.sequence_batching().state()) {
    given.push_back({state.input_name(), state.data_type(),
                     std::vector<int64_t>(state.dims().begin(), state.dims().end())});
  }
  return given;
}

Status check_features(const inference::ModelConfig& config) {
  if (config.batch_input_size() != 0 || config.batch_output_size() != 0)
    return invalid_argument("found batch_input or batch_output, expected none: backends/openvino has none");
  for (const auto& input : config.input()) {
    if (input.allow_ragged_batch())
      return invalid_argument("input '", input.name(),
                              "': found allow_ragged_batch, expected none: backends/openvino has none");
  }
  return {};
}

/// Sets the shapes of inputs, in which -1 is variable.
Status reshape(const OvModel& model, const std::vector<std::string>& ports,
               std::vector<std::vector<int64_t>>& shapes) {
  std::vector<const char*> names;
  std::vector<std::vector<OvDimension>> dims;
  std::vector<OvPartialShape> partial;
  for (size_t i = 0; i < ports.size(); ++i) {
    names.push_back(ports[i].c_str());
    std::vector<OvDimension>& of_input = dims.emplace_back();
    for (const int64_t dim : shapes[i]) of_input.push_back({dim == kAnyDim ? 0 : dim, dim});
  }
  for (std::vector<OvDimension>& of_input : dims) {
    const auto rank = static_cast<int64_t>(of_input.size());
    partial.push_back({{rank, rank}, of_input.data()});
  }
  return check(api().ov_model_reshape(&model, names.data(), partial.data(), names.size()));
}

/// Gives the inputs the dimensions of the configuration, or all batches the same size, if the settings ask for it.
Status shape_inputs(const inference::ModelConfig& config, const OvSettings& settings, const OvModel& model,
                    const std::vector<GivenInput>& given) {
  const bool batches = config.max_batch_size() > 0;
  const bool pads = settings.pads_batches && batches;
  if (!pads && !settings.reshapes_inputs) return {};
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> ports;
  for (const GivenInput& input : given) {
    auto port = find_input(model, input.name);
    if (!port.ok()) return {};  // said with more words by whoever plans the inputs
    ports.push_back(port->port);
    std::vector<int64_t>& shape = shapes.emplace_back(port->dims);
    if (settings.reshapes_inputs && input.dims) {
      shape = *input.dims;
      if (batches) shape.insert(shape.begin(), kAnyDim);
    }
    if (pads && !shape.empty()) shape[0] = config.max_batch_size();
  }
  Status status = reshape(model, ports, shapes);
  if (status.ok()) return {};
  return invalid_argument("the model's inputs cannot be reshaped: ", status.message());
}

Status plan_inputs(const inference::ModelConfig& config, const OvModel& model,
                   const std::vector<GivenInput>& given, const OvSignature& signature, OvModelPlan& plan) {
  if (given.size() != signature.inputs.size()) {
    return invalid_argument("found ", given.size(), " inputs in the configuration, expected ",
                            signature.inputs.size(), " as in the model: ", names_of(signature.inputs));
  }
  for (const GivenInput& input : given) {
    auto port = find_input(model, input.name);
    if (!port.ok()) {
      return invalid_argument("unexpected inference input '", input.name,
                              "', allowed inputs are: ", names_of(signature.inputs));
    }
    const auto datatype = input.datatype == inference::TYPE_INVALID
                              ? static_cast<inference::DataType>(port->datatype)
                              : input.datatype;
    if (input.dims) {
      ATOLL_RETURN_IF_ERROR(check_tensor(config, "input", input.name, datatype, *input.dims, *port));
    }
    OvInputPlan planned;
    planned.name = input.name;
    planned.port = port->port;
    planned.datatype = port->datatype;
    planned.scalar = port->has_rank && port->dims.empty();
    planned.element_type = port->element_type;
    planned.has_rank = port->has_rank;
    planned.dims = port->dims;
    plan.is_variable = plan.is_variable || port->is_variable();
    // A model that takes one batch size only gets all batches in that size.
    if (plan.batches && !port->dims.empty() && port->dims[0] != kAnyDim)
      plan.padded_rows = static_cast<uint32_t>(config.max_batch_size());
    plan.inputs.push_back(std::move(planned));
  }
  return {};
}

bool is_state(const inference::ModelConfig& config, const std::string& name) {
  return std::ranges::any_of(config.sequence_batching().state(),
                             [&](const auto& state) { return state.output_name() == name; });
}

Result<OvOutputPlan> plan_output(const inference::ModelConfig& config, const OvModel& model,
                                 const std::string& name, inference::DataType datatype,
                                 const std::vector<int64_t>& dims, const OvSignature& signature) {
  auto port = find_output(model, name);
  if (!port.ok()) {
    return invalid_argument("unexpected inference output '", name,
                            "', allowed outputs are: ", names_of(signature.outputs));
  }
  ATOLL_RETURN_IF_ERROR(check_tensor(config, "output", name, datatype, dims, *port));
  return OvOutputPlan{name, port->port, port->datatype, port->has_rank && port->dims.empty(),
                      is_state(config, name)};
}

Status plan_outputs(const inference::ModelConfig& config, const OvModel& model, const OvSignature& signature,
                    OvModelPlan& plan) {
  for (const auto& output : config.output()) {
    auto planned =
        plan_output(config, model, output.name(), output.data_type(), backend_dims(output), signature);
    if (!planned.ok()) return std::move(planned).status();
    plan.outputs.push_back(std::move(planned).value());
  }
  for (const auto& state : config.sequence_batching().state()) {
    if (std::ranges::find(plan.outputs, state.output_name(), &OvOutputPlan::name) != plan.outputs.end())
      continue;
    auto planned = plan_output(config, model, state.output_name(), state.data_type(),
                               {state.dims().begin(), state.dims().end()}, signature);
    if (!planned.ok()) return std::move(planned).status();
    plan.outputs.push_back(std::move(planned).value());
  }
  return {};
}

}  // namespace

Result<OvModelPlan> make_plan(const inference::ModelConfig& config, const OvSettings& settings,
                              const OvModel& model) noexcept {
  ATOLL_RETURN_IF_ERROR(check_features(config));
  OvModelPlan plan;
  plan.model_name = config.name();
  plan.batches = config.max_batch_size() > 0;
  plan.decoupled = config.model_transaction_policy().decoupled();
  const std::vector<GivenInput> given = given_inputs(config);
  ATOLL_RETURN_IF_ERROR(shape_inputs(config, settings, model, given));
  auto signature = read_signature(model);
  if (!signature.ok()) return std::move(signature).status();
  if (signature->outputs.empty())
    return invalid_argument("found a model file without outputs, expected a model");
  ATOLL_RETURN_IF_ERROR(plan_inputs(config, model, given, *signature, plan));
  ATOLL_RETURN_IF_ERROR(plan_outputs(config, model, *signature, plan));
  return plan;
}

}  // namespace atl::openvino
