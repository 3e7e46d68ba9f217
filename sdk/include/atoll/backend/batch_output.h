/// Outputs that are cut by the shapes of an input: `batch_output` of a model's configuration. The model's
/// tensor holds the requests' elements one after the other, in whatever shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "atoll/request/request.h"

namespace atl::backends {

/// One target of a BATCH_SCATTER_WITH_INPUT_SHAPE entry.
struct BatchOutput {
  std::string target;         ///< the output
  std::string source;         ///< the input whose shape fills in what is variable
  std::vector<int64_t> dims;  ///< as the backend sees the output; the batch dimension, if there is one, is -1
};

/// Every target of every entry.
/// Errors: INVALID_ARGUMENT a variable dimension of the output at a place where the source has none.
inline Result<std::vector<BatchOutput>> batch_outputs_of(const ModelDescription& model);

/// The shape of the request's part: each -1 of the output's dimensions is what the request's source input
/// has in the same place. Its product is the number of elements to cut off.
/// \param shape  its contents are replaced
/// \returns the number of elements.
/// Errors: INVALID_ARGUMENT no source input in the request, or too few dimensions in it, or a product beyond
/// 2^63 - 1.
inline Result<uint64_t> batch_output_shape(const BatchOutput& output, const Request& request,
                                           std::vector<int64_t>& shape) noexcept;

// --- implementation ---

namespace detail {

inline constexpr int64_t kVariable = -1;

/// With the batch dimension; nothing for a tensor that is not there.
inline std::vector<int64_t> dims_with_batch(const TensorSpec* tensor, bool batching) {
  std::vector<int64_t> dims;
  if (tensor == nullptr) return dims;
  if (batching) dims.push_back(kVariable);
  for (int64_t dim : tensor->backend_dims()) dims.push_back(dim);
  return dims;
}

}  // namespace detail

inline Result<std::vector<BatchOutput>> batch_outputs_of(const ModelDescription& model) {
  std::vector<BatchOutput> outputs;
  const bool batching = model.max_batch_size > 0;
  for (const BatchOutputSpec& spec : model.batch_outputs) {
    for (const std::string& target : spec.targets) {
      BatchOutput& output = outputs.emplace_back();
      output.target = target;
      if (!spec.sources.empty()) output.source = spec.sources[0];
      output.dims = detail::dims_with_batch(model.find_output(target), batching);
      const std::vector<int64_t> source = detail::dims_with_batch(model.find_input(output.source), batching);
      for (size_t i = source.size(); i < output.dims.size(); ++i) {
        if (output.dims[i] != detail::kVariable) continue;
        return invalid_argument("batch output '", target, "': found shape ", shape_text(output.dims),
                                ", expected -1 only where its source input '", output.source, "' with shape ",
                                shape_text(source), " has a dimension");
      }
    }
  }
  return outputs;
}

inline Result<uint64_t> batch_output_shape(const BatchOutput& output, const Request& request,
                                           std::vector<int64_t>& shape) noexcept {
  const InputTensor* source = request.find_input(output.source);
  if (source == nullptr) {
    return invalid_argument("batch output '", output.target, "': found no input '", output.source,
                            "' in the request, expected one whose shape says how to cut");
  }
  shape = output.dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == detail::kVariable && i < source->shape.size()) shape[i] = source->shape[i];
  }
  auto count = element_count(shape);
  if (count) return static_cast<uint64_t>(*count);
  return invalid_argument("batch output '", output.target, "': found shape ", shape_text(shape),
                          " for the shape ", shape_text(source->shape), " of input '", output.source,
                          "', expected dimensions of 0 or more whose product fits into 63 bits");
}

}  // namespace atl::backends
