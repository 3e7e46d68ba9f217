/// Model configurations against models: completing what is left out, refusing what contradicts.
#pragma once

#include <cstdint>

#include "atoll/core/status.h"
#include "backends/openvino/signature.h"
#include "model_config.pb.h"

namespace atl::openvino {

/// Whether inputs and outputs are written, so that there is nothing to complete and no need to read the model.
bool is_complete(const inference::ModelConfig& config) noexcept;

/// Fills in max_batch_size, dynamic batching and missing lists of inputs and outputs from the model. A dimension that the model
/// fixes stays fixed.
///
/// A model can batch if every input and output has a variable first dimension. max_batch_size then becomes default_max_batch_size
/// unless it is written (one written as 0 looks as if it were not), and no more than the model takes.
/// Errors: INVALID_ARGUMENT a written max_batch_size > 0 for a model that cannot batch; a tensor of a type that the protocol has no
/// name for, without a name, or whose number of dimensions the model does not say.
Status complete(inference::ModelConfig& config, const OvSignature& signature,
                int64_t default_max_batch_size) noexcept;

/// Checks a tensor of a complete configuration against the model's port: datatype and dimensions.
/// \param kind  for messages: "input"
/// \param dims  what the backend sees of the tensor, without the batch dimension
/// Errors: INVALID_ARGUMENT names the tensor, what the model has and what the configuration says.
Status check_tensor(const inference::ModelConfig& config, std::string_view kind, std::string_view name,
                    inference::DataType datatype, const std::vector<int64_t>& dims,
                    const OvPortInfo& port) noexcept;

/// What the backend sees of a ModelInput or ModelOutput: its reshape, or else its dims.
template <class Tensor>
std::vector<int64_t> backend_dims(const Tensor& tensor) {
  const auto& dims = tensor.has_reshape() ? tensor.reshape().shape() : tensor.dims();
  return {dims.begin(), dims.end()};
}

}  // namespace atl::openvino
