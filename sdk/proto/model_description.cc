#include "atoll/proto/model_description.h"

#include <algorithm>

#include "model_config.pb.h"

namespace atl::proto {
namespace {

template <class Tensor>
TensorSpec spec_of(const Tensor& tensor) {
  TensorSpec spec;
  spec.name = tensor.name();
  spec.datatype = static_cast<DataType>(tensor.data_type());
  spec.dims.assign(tensor.dims().begin(), tensor.dims().end());
  spec.has_reshape = tensor.has_reshape();
  spec.reshape.assign(tensor.reshape().shape().begin(), tensor.reshape().shape().end());
  spec.shape_tensor = tensor.is_shape_tensor();
  spec.non_linear_format = tensor.is_non_linear_format_io();
  return spec;
}

}  // namespace

ModelDescription describe_model(const inference::ModelConfig& config) {
  ModelDescription model;
  model.name = config.name();
  model.max_batch_size = static_cast<uint32_t>(std::max(config.max_batch_size(), 0));
  model.decoupled = config.model_transaction_policy().decoupled();
  model.default_model_filename = config.default_model_filename();
  for (const auto& input : config.input()) {
    TensorSpec& spec = model.inputs.emplace_back(spec_of(input));
    spec.optional = input.optional();
    spec.allow_ragged = input.allow_ragged_batch();
  }
  for (const auto& output : config.output()) model.outputs.push_back(spec_of(output));
  for (const auto& [key, value] : config.parameters()) model.parameters.emplace(key, value.string_value());
  for (const auto& entry : config.batch_input()) {
    BatchInputSpec& spec = model.batch_inputs.emplace_back();
    spec.kind = static_cast<BatchInputSpec::Kind>(entry.kind());
    spec.datatype = static_cast<DataType>(entry.data_type());
    spec.targets.assign(entry.target_name().begin(), entry.target_name().end());
    spec.sources.assign(entry.source_input().begin(), entry.source_input().end());
  }
  for (const auto& entry : config.batch_output()) {
    BatchOutputSpec& spec = model.batch_outputs.emplace_back();
    spec.targets.assign(entry.target_name().begin(), entry.target_name().end());
    spec.sources.assign(entry.source_input().begin(), entry.source_input().end());
  }
  return model;
}

}  // namespace atl::proto
