#include "backends/tensorflow/tf_autofill.h"

#include <algorithm>
#include <string_view>

#include "backends/common/batch_completion.h"

namespace atl::tensorflow {
namespace {

using inference::ModelConfig;

constexpr int64_t kVariable = -1;

template <class Tensor>
std::vector<int64_t> dims_at_backend(const Tensor& tensor) {
  const auto& dims = tensor.has_reshape() ? tensor.reshape().shape() : tensor.dims();
  return {dims.begin(), dims.end()};
}

bool begins_with_batch(const std::vector<TfTensorInfo>& tensors) {
  return std::ranges::all_of(tensors, [](const TfTensorInfo& tensor) {
    return tensor.unknown_rank || (!tensor.dims.empty() && tensor.dims[0] == kVariable);
  });
}

/// What the written shapes say of batching.
struct BatchHints {
  bool yes = false, no = false;

  template <class Tensors>
  void add(const Tensors& written, const std::vector<TfTensorInfo>& of_model) {
    for (const auto& tensor : written) {
      const TfTensorInfo* info = TfSignature::find(of_model, tensor.name());
      if (info == nullptr || info->unknown_rank || tensor.dims().empty()) continue;
      const size_t rank = dims_at_backend(tensor).size();
      if (rank + 1 == info->dims.size()) yes = true;
      if (rank == info->dims.size()) no = true;
    }
  }
};

bool is_ragged(const ModelConfig& config) {
  return std::ranges::any_of(config.input(), [](const auto& input) { return input.allow_ragged_batch(); });
}

Status fill_max_batch_size(ModelConfig& config, const TfSignature& signature,
                           int64_t default_max_batch_size) {
  BatchHints hints;
  hints.add(config.input(), signature.inputs);
  hints.add(config.output(), signature.outputs);
  if (is_ragged(config)) {
    hints = {true, false};
  } else if (hints.yes && hints.no) {
    return backends::completion_error(
        config,
        "some tensors are written with the batch dimension and some without; expected all without it, or a "
        "model that does not batch");
  }
  const bool can_batch =
      hints.yes || (begins_with_batch(signature.inputs) && begins_with_batch(signature.outputs));
  if (can_batch && hints.no && config.max_batch_size() == 0) return {};
  return backends::complete_max_batch_size(config, can_batch, default_max_batch_size);
}

/// \param tensor  a ModelInput or ModelOutput; what is written stays
template <class Tensor>
Status fill_tensor(const ModelConfig& config, const TfTensorInfo& info, Tensor& tensor) {
  tensor.set_name(info.name);
  if (tensor.data_type() == inference::TYPE_INVALID)
    tensor.set_data_type(static_cast<inference::DataType>(info.datatype()));
  if (!tensor.dims().empty()) return {};
  if (info.unknown_rank) {
    return backends::completion_error(config,
                                      cat("tensor '", info.name,
                                          "': the model says nothing of its shape, expected dims in the "
                                          "configuration"));
  }
  const bool batches = config.max_batch_size() > 0;
  for (size_t i = batches ? 1 : 0; i < info.dims.size(); ++i) tensor.add_dims(info.dims[i]);
  if (tensor.dims().empty()) {
    tensor.add_dims(1);
    if (batches) tensor.mutable_reshape();
  }
  return {};
}

bool is_made(const ModelConfig& config, const std::string& input) {
  const auto names_it = [&](const auto& list) { return std::ranges::find(list, input) != list.end(); };
  const auto& sequences = config.sequence_batching();
  return std::ranges::any_of(config.batch_input(),
                             [&](const auto& one) { return names_it(one.target_name()); }) ||
         std::ranges::any_of(sequences.control_input(),
                             [&](const auto& one) { return one.name() == input; }) ||
         std::ranges::any_of(sequences.state(), [&](const auto& one) { return one.input_name() == input; });
}

template <class Tensors>
auto* find_written(Tensors* tensors, const std::string& name) {
  const auto found =
      std::ranges::find_if(*tensors, [&](const auto& tensor) { return tensor.name() == name; });
  return found == tensors->end() ? nullptr : &*found;
}

Status check_type(const char* kind, std::string_view name, inference::DataType written,
                  const TfTensorInfo& info) {
  if (static_cast<int>(written) == static_cast<int>(info.datatype())) return {};
  return invalid_argument("unexpected datatype ",
                          data_type_name(static_cast<DataType>(static_cast<uint32_t>(written))), " for ",
                          kind, " '", name, "', expecting ", info.type_text());
}

/// \param dims  what the backend sees of the tensor, without the batch dimension
Status check_shape(const ModelConfig& config, std::string_view name, std::vector<int64_t> dims,
                   const TfTensorInfo& info) {
  if (info.unknown_rank) return {};
  const bool batches = config.max_batch_size() > 0;
  if (batches && (info.dims.empty() || info.dims[0] != kVariable)) {
    return invalid_argument("tensor '", name,
                            "': for the model to support batching the shape should have at least 1 dimension "
                            "and the first dimension must be -1; but shape expected by the model is ",
                            shape_text(info.dims));
  }
  // The configuration of a model that does not batch cannot say rank 0.
  if (info.dims.empty() && (dims.empty() || (dims.size() == 1 && dims[0] == 1))) return {};
  if (batches) dims.insert(dims.begin(), kVariable);
  bool fits = dims.size() == info.dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = dims[i] == info.dims[i] || dims[i] == kVariable || info.dims[i] == kVariable;
  if (fits) return {};
  return invalid_argument("tensor '", name, "': the model expects ", info.dims.size(), " dimensions (shape ",
                          shape_text(info.dims), ") but the model configuration specifies ", dims.size(),
                          " dimensions (shape ", shape_text(dims),
                          batches ? ", with the batch dimension because max_batch_size > 0)" : ")");
}

Status not_in_model(const char* kind, std::string_view name, const std::vector<TfTensorInfo>& of_model) {
  return invalid_argument("unexpected inference ", kind, " '", name, "', allowed ", kind,
                          "s are: ", names_of(of_model));
}

Status check_added_inputs(const ModelConfig& config, const TfSignature& signature,
                          std::vector<std::string_view>& given) {
  const auto add = [&](const std::string& name, inference::DataType type) -> Status {
    const TfTensorInfo* info = TfSignature::find(signature.inputs, name);
    if (info == nullptr) return not_in_model("input", name, signature.inputs);
    given.push_back(name);
    return type == inference::TYPE_INVALID ? Status() : check_type("input", name, type, *info);
  };
  for (const auto& control : config.sequence_batching().control_input())
    ATOLL_RETURN_IF_ERROR(add(control.name(), inference::TYPE_INVALID));
  for (const auto& state : config.sequence_batching().state()) {
    ATOLL_RETURN_IF_ERROR(add(state.input_name(), state.data_type()));
    const TfTensorInfo* output = TfSignature::find(signature.outputs, state.output_name());
    if (output == nullptr) return not_in_model("output", state.output_name(), signature.outputs);
    ATOLL_RETURN_IF_ERROR(check_type("state output", state.output_name(), state.data_type(), *output));
  }
  for (const auto& batch_input : config.batch_input()) {
    for (const std::string& target : batch_input.target_name())
      ATOLL_RETURN_IF_ERROR(add(target, batch_input.data_type()));
  }
  return {};
}

bool is_scattered(const ModelConfig& config, const std::string& output) {
  return std::ranges::any_of(config.batch_output(), [&](const auto& entry) {
    return std::ranges::find(entry.target_name(), output) != entry.target_name().end();
  });
}

Status check_inputs(const ModelConfig& config, const TfSignature& signature,
                    const std::vector<std::string>& optional) {
  std::vector<std::string_view> given;
  for (const auto& input : config.input()) {
    const TfTensorInfo* info = TfSignature::find(signature.inputs, input.name());
    if (info == nullptr) return not_in_model("input", input.name(), signature.inputs);
    ATOLL_RETURN_IF_ERROR(check_type("input", input.name(), input.data_type(), *info));
    if (!input.allow_ragged_batch())
      ATOLL_RETURN_IF_ERROR(check_shape(config, input.name(), dims_at_backend(input), *info));
    given.push_back(input.name());
  }
  ATOLL_RETURN_IF_ERROR(check_added_inputs(config, signature, given));
  for (const TfTensorInfo& input : signature.inputs) {
    if (std::ranges::find(given, input.name) != given.end()) continue;
    if (std::ranges::find(optional, input.name) != optional.end()) continue;
    return invalid_argument("configuration expects ", given.size(), " inputs, model provides ",
                            signature.inputs.size(), ": input '", input.name, "' is missing");
  }
  return {};
}

}  // namespace

bool has_all_tensors(const ModelConfig& config) noexcept {
  const auto is_said = [](const auto& tensor) {
    return tensor.data_type() != inference::TYPE_INVALID && !tensor.dims().empty();
  };
  return config.max_batch_size() > 0 && config.input_size() != 0 && config.output_size() != 0 &&
         std::ranges::all_of(config.input(), is_said) && std::ranges::all_of(config.output(), is_said);
}

Status complete_from_signature(ModelConfig& config, const TfSignature& signature,
                               int64_t default_max_batch_size) noexcept {
  ATOLL_RETURN_IF_ERROR(fill_max_batch_size(config, signature, default_max_batch_size));
  for (const TfTensorInfo& info : signature.inputs) {
    if (is_made(config, info.name)) continue;
    auto* written = find_written(config.mutable_input(), info.name);
    ATOLL_RETURN_IF_ERROR(fill_tensor(config, info, written == nullptr ? *config.add_input() : *written));
  }
  const bool adds_outputs = config.output_size() == 0;
  for (const TfTensorInfo& info : signature.outputs) {
    auto* written = adds_outputs ? config.add_output() : find_written(config.mutable_output(), info.name);
    if (written != nullptr) ATOLL_RETURN_IF_ERROR(fill_tensor(config, info, *written));
  }
  return {};
}

Status check_against_signature(const ModelConfig& config, const TfSignature& signature,
                               const std::vector<std::string>& optional) noexcept {
  ATOLL_RETURN_IF_ERROR(check_inputs(config, signature, optional));
  for (const auto& output : config.output()) {
    const TfTensorInfo* info = TfSignature::find(signature.outputs, output.name());
    if (info == nullptr) return not_in_model("output", output.name(), signature.outputs);
    ATOLL_RETURN_IF_ERROR(check_type("output", output.name(), output.data_type(), *info));
    if (is_scattered(config, output.name())) continue;  // cut by elements, whatever the model's shape
    ATOLL_RETURN_IF_ERROR(check_shape(config, output.name(), dims_at_backend(output), *info));
  }
  return {};
}

}  // namespace atl::tensorflow
