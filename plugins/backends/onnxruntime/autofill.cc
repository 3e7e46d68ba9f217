#include "backends/onnxruntime/autofill.h"

#include <algorithm>

#include "backends/common/batch_completion.h"

namespace atl::ort {
namespace {

constexpr int64_t kVariable = -1;

bool has_batch_dimension(const std::vector<OnnxTensor>& tensors) {
  return std::ranges::all_of(tensors, [](const OnnxTensor& tensor) {
    // An input with a default can be left out, so it need not follow the batch.
    return tensor.has_default || (!tensor.dims.empty() && tensor.dims[0] == kVariable);
  });
}

/// \param tensor  a ModelInput or ModelOutput
template <class Tensor>
Status fill_tensor(const inference::ModelConfig& config, const OnnxTensor& info, Tensor& tensor) {
  if (info.datatype == DataType::kInvalid) {
    return backends::completion_error(config, cat("tensor '", info.name, "' is of type ", info.type_text,
                                                  ", expected a tensor of a type of the protocol"));
  }
  bool batches = config.max_batch_size() > 0;
  tensor.set_name(info.name);
  tensor.set_data_type(static_cast<inference::DataType>(info.datatype));
  for (size_t i = batches ? 1 : 0; i < info.dims.size(); ++i) tensor.add_dims(info.dims[i]);
  if (tensor.dims().empty()) {
    tensor.add_dims(1);
    if (batches) tensor.mutable_reshape();
  }
  return {};
}

Status check_datatype(const char* kind, std::string_view name, inference::DataType written,
                      const OnnxTensor& info) {
  if (info.datatype != DataType::kInvalid && static_cast<int>(written) == static_cast<int>(info.datatype)) {
    return {};
  }
  return invalid_argument("unexpected datatype ",
                          data_type_name(static_cast<DataType>(static_cast<uint32_t>(written))), " for ",
                          kind, " '", name, "', expecting ", info.type_text);
}

/// \param dims  what the backend sees of the tensor, without the batch dimension
Status check_shape(const inference::ModelConfig& config, std::string_view name, std::vector<int64_t> dims,
                   const OnnxTensor& info) {
  // Rank 0 is a scalar, or the model says nothing about the shape: there is nothing to compare with.
  bool batches = config.max_batch_size() > 0;
  if (batches && !info.dims.empty() && info.dims[0] != kVariable) {
    return invalid_argument("tensor '", name,
                            "': for the model to support batching the shape should have at least 1 dimension "
                            "and the first dimension must be -1; but shape expected by the model is ",
                            shape_text(info.dims));
  }
  if (info.dims.empty()) return {};
  if (batches) dims.insert(dims.begin(), kVariable);
  bool fits = dims.size() == info.dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    fits = dims[i] == info.dims[i] || dims[i] == kVariable || info.dims[i] == kVariable;
  }
  if (fits) return {};
  return invalid_argument("tensor '", name, "': the model expects ", info.dims.size(), " dimensions (shape ",
                          shape_text(info.dims), ") but the model configuration specifies ", dims.size(),
                          " dimensions (",
                          batches ? "an initial batch dimension because max_batch_size > 0 followed by the "
                                    "explicit tensor shape, making complete shape "
                                  : "shape ",
                          shape_text(dims), ")");
}

template <class Tensor>
std::vector<int64_t> dims_at_backend(const Tensor& tensor) {
  const auto& dims = tensor.has_reshape() ? tensor.reshape().shape() : tensor.dims();
  return {dims.begin(), dims.end()};
}

Status check_input(const inference::ModelConfig& config, const Signature& signature, std::string_view name,
                   inference::DataType datatype, const std::vector<int64_t>* dims) {
  const OnnxTensor* info = signature.find_input(name);
  if (info == nullptr) {
    return invalid_argument("unexpected inference input '", name,
                            "', allowed inputs are: ", names_of(signature.inputs));
  }
  if (datatype != inference::TYPE_INVALID) {
    ATOLL_RETURN_IF_ERROR(check_datatype("input", name, datatype, *info));
  }
  return dims == nullptr ? Status() : check_shape(config, name, *dims, *info);
}

/// \param given  inputs that the configuration, the scheduler and the backend give the model
Status wrong_count(const inference::ModelConfig& config, size_t given, size_t provided,
                   std::string_view why) {
  return invalid_argument("unable to load model '", config.name(), "', configuration expects ", given,
                          " inputs, model provides ", provided, why);
}

/// More than the model has.
Status check_count(const inference::ModelConfig& config, const Signature& signature) {
  int given = config.input_size() + config.sequence_batching().control_input_size() +
              config.sequence_batching().state_size();
  for (const auto& batch_input : config.batch_input()) given += batch_input.target_name_size();
  const auto count = static_cast<size_t>(given);
  if (count <= signature.inputs.size()) return {};
  return wrong_count(config, count, signature.inputs.size(), "");
}

/// What a backend-made input looks like to the model, where that is known.
std::vector<int64_t> batch_input_dims(const inference::ModelConfig& config,
                                      const inference::BatchInput& batch_input) {
  if (batch_input.kind() != inference::BatchInput::BATCH_ITEM_SHAPE) return {kVariable};
  for (const auto& input : config.input()) {
    if (batch_input.source_input_size() == 0 || input.name() != batch_input.source_input(0)) continue;
    return {kVariable, static_cast<int64_t>(dims_at_backend(input).size())};
  }
  return {kVariable, kVariable};
}

/// An input whose first dimension is not the batch size, but grows with what is in the batch.
/// \param reason  what makes it so
Status check_grown_shape(const inference::ModelConfig& config, std::string_view name,
                         const std::vector<int64_t>& dims, const OnnxTensor& info, std::string_view reason) {
  if (info.dims.empty()) return {};  // the model says nothing
  bool fits = dims.size() == info.dims.size() && (info.dims[0] == kVariable || config.max_batch_size() <= 1);
  for (size_t i = 1; fits && i < dims.size(); ++i)
    fits = dims[i] == info.dims[i] || info.dims[i] == kVariable;
  if (fits) return {};
  return invalid_argument("tensor '", name, "': the model expects shape ", shape_text(info.dims), ", but ",
                          reason, " gives it shape ", shape_text(dims));
}

/// Tensors that a scheduler or the backend adds: the names of those that reach the model.
Status check_added_inputs(const inference::ModelConfig& config, const Signature& signature,
                          std::vector<std::string_view>& given) {
  for (const auto& control : config.sequence_batching().control_input()) {
    ATOLL_RETURN_IF_ERROR(check_input(config, signature, control.name(), inference::TYPE_INVALID, nullptr));
    given.push_back(control.name());
  }
  for (const auto& state : config.sequence_batching().state()) {
    std::vector<int64_t> dims(state.dims().begin(), state.dims().end());
    ATOLL_RETURN_IF_ERROR(check_input(config, signature, state.input_name(), state.data_type(), &dims));
    given.push_back(state.input_name());
    const OnnxTensor* output = signature.find_output(state.output_name());
    if (output == nullptr) {
      return invalid_argument("unexpected state output '", state.output_name(),
                              "', allowed outputs are: ", names_of(signature.outputs));
    }
    ATOLL_RETURN_IF_ERROR(check_datatype("state output", state.output_name(), state.data_type(), *output));
  }
  for (const auto& batch_input : config.batch_input()) {
    for (const std::string& target : batch_input.target_name()) {
      ATOLL_RETURN_IF_ERROR(check_input(config, signature, target, batch_input.data_type(), nullptr));
      ATOLL_RETURN_IF_ERROR(check_grown_shape(config, target, batch_input_dims(config, batch_input),
                                              *signature.find_input(target),
                                              inference::BatchInput::Kind_Name(batch_input.kind())));
      given.push_back(target);
    }
  }
  return {};
}

bool is_scattered(const inference::ModelConfig& config, const std::string& output) {
  return std::ranges::any_of(config.batch_output(), [&](const auto& entry) {
    return std::ranges::find(entry.target_name(), output) != entry.target_name().end();
  });
}

}  // namespace

bool is_complete(const inference::ModelConfig& config) noexcept {
  return (config.input_size() != 0 || config.batch_input_size() != 0) && config.output_size() != 0;
}

Status complete(inference::ModelConfig& config, const Signature& signature,
                int64_t default_max_batch_size) noexcept {
  const bool can_batch = has_batch_dimension(signature.inputs) && has_batch_dimension(signature.outputs);
  ATOLL_RETURN_IF_ERROR(backends::complete_max_batch_size(config, can_batch, default_max_batch_size));
  if (config.input_size() == 0 && config.batch_input_size() == 0) {
    for (size_t i = 0; i < signature.required_inputs; ++i) {
      if (backends::is_schedulers_input(config, signature.inputs[i].name)) continue;
      ATOLL_RETURN_IF_ERROR(fill_tensor(config, signature.inputs[i], *config.add_input()));
    }
  }
  if (config.output_size() == 0) {
    for (const OnnxTensor& output : signature.outputs) {
      ATOLL_RETURN_IF_ERROR(fill_tensor(config, output, *config.add_output()));
    }
  }
  return {};
}

Status check_against_model(const inference::ModelConfig& config, const Signature& signature) noexcept {
  ATOLL_RETURN_IF_ERROR(check_count(config, signature));
  std::vector<std::string_view> given;
  for (const auto& input : config.input()) {
    std::vector<int64_t> dims = dims_at_backend(input);
    bool ragged = input.allow_ragged_batch();
    ATOLL_RETURN_IF_ERROR(
        check_input(config, signature, input.name(), input.data_type(), ragged ? nullptr : &dims));
    if (ragged) {
      ATOLL_RETURN_IF_ERROR(check_grown_shape(config, input.name(), {kVariable},
                                              *signature.find_input(input.name()), "allow_ragged_batch"));
    }
    given.push_back(input.name());
  }
  ATOLL_RETURN_IF_ERROR(check_added_inputs(config, signature, given));
  for (size_t i = 0; i < signature.required_inputs; ++i) {
    const std::string& name = signature.inputs[i].name;
    if (std::ranges::find(given, name) == given.end()) {
      return wrong_count(config, given.size(), signature.required_inputs,
                         cat(": input '", name, "' is missing"));
    }
  }
  for (const auto& output : config.output()) {
    const OnnxTensor* info = signature.find_output(output.name());
    if (info == nullptr) {
      return invalid_argument("unexpected inference output '", output.name(),
                              "', allowed outputs are: ", names_of(signature.outputs));
    }
    ATOLL_RETURN_IF_ERROR(check_datatype("output", output.name(), output.data_type(), *info));
    if (is_scattered(config, output.name())) continue;  // cut by elements, whatever the model's shape
    ATOLL_RETURN_IF_ERROR(check_shape(config, output.name(), dims_at_backend(output), *info));
  }
  return {};
}

}  // namespace atl::ort
