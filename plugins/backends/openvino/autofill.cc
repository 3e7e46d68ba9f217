#include "backends/openvino/autofill.h"

#include <algorithm>
#include <limits>

#include "atoll/core/text.h"
#include "backends/common/batch_completion.h"

namespace atl::openvino {
namespace {

constexpr int64_t kVariable = -1;

bool has_batch_dimension(const std::vector<OvPortInfo>& ports) {
  return std::ranges::all_of(ports, [](const OvPortInfo& port) {
    return port.has_rank && !port.dims.empty() && port.dims[0] == kVariable;
  });
}

int64_t rows_max(const OvSignature& signature) {
  int64_t most = std::numeric_limits<int32_t>::max();
  for (const OvPortInfo& port : signature.inputs) {
    if (port.first_max >= 0) most = std::min(most, port.first_max);
  }
  return most;
}

/// \param tensor  a ModelInput or ModelOutput
template <class Tensor>
Status fill_tensor(const inference::ModelConfig& config, const OvPortInfo& port, Tensor& tensor) {
  if (port.name.empty()) return backends::completion_error(config, "a tensor of the model has no name");
  if (port.datatype == DataType::kInvalid) {
    return backends::completion_error(config, cat("tensor '", port.name, "' is of ", port.type_text(),
                                                  ", expected a type of the protocol"));
  }
  if (!port.has_rank) {
    return backends::completion_error(config, cat("the model does not say how many dimensions tensor '",
                                                  port.name, "' has: write its dims"));
  }
  const bool batches = config.max_batch_size() > 0;
  tensor.set_name(port.name);
  tensor.set_data_type(static_cast<inference::DataType>(port.datatype));
  for (size_t i = batches ? 1 : 0; i < port.dims.size(); ++i) tensor.add_dims(port.dims[i]);
  if (tensor.dims().empty()) {
    tensor.add_dims(1);
    if (batches) tensor.mutable_reshape();
  }
  return {};
}

}  // namespace

bool is_complete(const inference::ModelConfig& config) noexcept {
  return config.input_size() != 0 && config.output_size() != 0;
}

Status complete(inference::ModelConfig& config, const OvSignature& signature,
                int64_t default_max_batch_size) noexcept {
  const bool can_batch = !signature.inputs.empty() && has_batch_dimension(signature.inputs) &&
                         has_batch_dimension(signature.outputs);
  ATOLL_RETURN_IF_ERROR(
      backends::complete_max_batch_size(config, can_batch, default_max_batch_size, rows_max(signature)));
  if (config.input_size() == 0) {
    for (const OvPortInfo& input : signature.inputs) {
      if (backends::is_schedulers_input(config, input.name)) continue;
      ATOLL_RETURN_IF_ERROR(fill_tensor(config, input, *config.add_input()));
    }
  }
  if (config.output_size() == 0) {
    for (const OvPortInfo& output : signature.outputs)
      ATOLL_RETURN_IF_ERROR(fill_tensor(config, output, *config.add_output()));
  }
  return {};
}

Status check_tensor(const inference::ModelConfig& config, std::string_view kind, std::string_view name,
                    inference::DataType datatype, const std::vector<int64_t>& dims,
                    const OvPortInfo& port) noexcept {
  if (static_cast<int>(datatype) != static_cast<int>(port.datatype) || port.datatype == DataType::kInvalid) {
    return invalid_argument(kind, " '", name, "': found datatype ",
                            data_type_name(static_cast<DataType>(static_cast<uint32_t>(datatype))),
                            " in the configuration, expected ", port.type_text(), " as in the model");
  }
  const bool batches = config.max_batch_size() > 0;
  if (!port.has_rank) return {};
  std::vector<int64_t> whole = dims;
  if (batches) whole.insert(whole.begin(), kVariable);
  const bool is_scalar = !batches && port.dims.empty() && dims == std::vector<int64_t>{1};
  bool fits = is_scalar || whole.size() == port.dims.size();
  for (size_t i = 0; fits && !is_scalar && i < whole.size(); ++i)
    fits = whole[i] == port.dims[i] || whole[i] == kVariable || port.dims[i] == kVariable;
  if (fits && batches) fits = port.dims[0] == kVariable || port.dims[0] == config.max_batch_size();
  if (fits) return {};
  return invalid_argument(kind, " '", name, "': found shape ", shape_text(whole), " in the configuration",
                          batches ? " with the batch dimension" : "", ", expected ", shape_text(port.dims),
                          " as in the model");
}

}  // namespace atl::openvino
