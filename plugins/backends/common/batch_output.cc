#include "common/batch_output.h"

#include <algorithm>

namespace atl::backends {
namespace {

constexpr int64_t kVariable = -1;

template <class Tensors>
auto find_tensor(const Tensors& tensors, const std::string& name) {
  return std::ranges::find_if(tensors, [&](const auto& tensor) { return tensor.name() == name; });
}

/// With the batch dimension; nothing for a name that is not there.
template <class Tensors>
std::vector<int64_t> backend_dims(const Tensors& tensors, const std::string& name, bool batching) {
  std::vector<int64_t> dims;
  auto tensor = find_tensor(tensors, name);
  if (tensor == tensors.end()) return dims;
  if (batching) dims.push_back(kVariable);
  const auto& written = tensor->has_reshape() ? tensor->reshape().shape() : tensor->dims();
  dims.insert(dims.end(), written.begin(), written.end());
  return dims;
}

}  // namespace

Result<std::vector<BatchOutput>> batch_outputs_of(const inference::ModelConfig& config) {
  std::vector<BatchOutput> outputs;
  bool batching = config.max_batch_size() > 0;
  for (const auto& entry : config.batch_output()) {
    for (const std::string& target : entry.target_name()) {
      BatchOutput& output = outputs.emplace_back();
      output.target = target;
      if (entry.source_input_size() != 0) output.source = entry.source_input(0);
      output.dims = backend_dims(config.output(), target, batching);
      std::vector<int64_t> source = backend_dims(config.input(), output.source, batching);
      for (size_t i = source.size(); i < output.dims.size(); ++i) {
        if (output.dims[i] != kVariable) continue;
        return invalid_argument("batch output '", target, "': found shape ", shape_text(output.dims),
                                ", expected -1 only where its source input '", output.source, "' with shape ",
                                shape_text(source), " has a dimension");
      }
    }
  }
  return outputs;
}

Result<uint64_t> batch_output_shape(const BatchOutput& output, const Request& request,
                                    std::vector<int64_t>& shape) noexcept {
  const InputTensor* source = request.find_input(output.source);
  if (source == nullptr) {
    return invalid_argument("batch output '", output.target, "': found no input '", output.source,
                            "' in the request, expected one whose shape says how to cut");
  }
  shape = output.dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == kVariable && i < source->shape.size()) shape[i] = source->shape[i];
  }
  auto count = element_count(shape);
  if (count) return static_cast<uint64_t>(*count);
  return invalid_argument("batch output '", output.target, "': found shape ", shape_text(shape),
                          " for the shape ", shape_text(source->shape), " of input '", output.source,
                          "', expected dimensions of 0 or more whose product fits into 63 bits");
}

}  // namespace atl::backends
