#include "model_info.h"

#include <set>
#include <utility>

#include "label_file.h"
#include "model_config.pb.h"

namespace atl::models {
namespace {

template <class Proto>
TensorSpec make_spec(const Proto& proto) {
  TensorSpec spec;
  spec.name = proto.name();
  spec.datatype = static_cast<DataType>(proto.data_type());
  spec.dims.assign(proto.dims().begin(), proto.dims().end());
  spec.has_reshape = proto.has_reshape();
  spec.reshape.assign(proto.reshape().shape().begin(), proto.reshape().shape().end());
  spec.shape_tensor = proto.is_shape_tensor();
  spec.non_linear_format = proto.is_non_linear_format_io();
  return spec;
}

Status check_names(const std::vector<TensorSpec>& specs, std::string_view what, std::string_view model) {
  std::set<std::string_view> seen;
  for (const TensorSpec& spec : specs) {
    if (!seen.insert(spec.name).second) {
      return invalid_argument("model ", what, " '", spec.name, "' appears twice for ", model);
    }
  }
  return {};
}

}  // namespace

Status parse_config(std::string_view bytes, inference::ModelConfig* config) {
  if (bytes.size() > INT32_MAX || !config->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return internal_error("the model configuration's ", bytes.size(),
                          " bytes are no serialized inference.ModelConfig");
  }
  return {};
}

Result<ModelInfo> make_model_info(const inference::ModelConfig& config, std::string bytes, int64_t version,
                                  const std::string& model_directory) {
  ModelInfo info;
  info.name = config.name();
  info.version = version;
  info.version_text = cat(version);
  info.platform = config.platform().empty() ? config.backend() : config.platform();
  if (config.max_batch_size() < 0) {
    return invalid_argument("max_batch_size of model '", info.name, "' is ", config.max_batch_size(),
                            ", expected a number >= 0");
  }
  info.max_batch_size = static_cast<uint32_t>(config.max_batch_size());
  info.decoupled = config.model_transaction_policy().decoupled();
  for (const auto& input : config.input()) {
    TensorSpec& spec = info.inputs.emplace_back(make_spec(input));
    spec.optional = input.optional();
    spec.allow_ragged = input.allow_ragged_batch();
    if (!spec.optional) ++info.required_inputs;
  }
  for (const auto& output : config.output()) {
    TensorSpec& spec = info.outputs.emplace_back(make_spec(output));
    if (output.label_filename().empty()) continue;
    Result<std::vector<std::string>> labels =
        read_label_file(model_directory, output.label_filename(), spec.name, info.name);
    if (!labels.ok()) return std::move(labels).status();
    spec.labels = std::move(labels).value();
  }
  ATOLL_RETURN_IF_ERROR(check_names(info.inputs, "input", info.name));
  ATOLL_RETURN_IF_ERROR(check_names(info.outputs, "output", info.name));
  info.config = std::move(bytes);
  return info;
}

CorrelationControl find_correlation_control(const inference::ModelConfig& config) {
  using Control = inference::ModelSequenceBatching::Control;
  for (const auto& input : config.sequence_batching().control_input()) {
    for (const auto& control : input.control()) {
      if (control.kind() == Control::CONTROL_SEQUENCE_CORRID) {
        return {input.name(), static_cast<DataType>(control.data_type())};
      }
    }
  }
  return {};
}

}  // namespace atl::models
