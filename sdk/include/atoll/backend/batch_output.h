/// Outputs that are cut by the shapes of an input: `batch_output` of a model's configuration, whose only kind
/// is BATCH_SCATTER_WITH_INPUT_SHAPE. In a ragged batch the requests have different numbers of elements, so
/// an output of the whole batch cannot be cut along its first dimension. The model's tensor holds the
/// requests' elements one after the other, in whatever shape.
///
///     batch_output {
///       target_name: "Y"
///       kind: BATCH_SCATTER_WITH_INPUT_SHAPE
///       source_input: "X"  # whose shape says how many elements of "Y" a request gets
///     }
///
/// For an output with dims [-1] and a source input that has the shapes [2], [5] and [3] in a batch's
/// requests, the first request gets elements 0 to 1, the second 2 to 6, the third 7 to 9:
///
///     outputs_ = *backends::batch_outputs_of(source.model);  // in load(), after looking at its status
///     ...
///     uint64_t begin = 0;
///     std::vector<int64_t> shape;
///     for (uint32_t i = 0; i < responder.size(); ++i) {
///       Result<uint64_t> count = backends::batch_output_shape(output, responder.request(i), shape);
///       if (!count.ok() || *count > elements - begin) return cannot_cut(i);
///       copy_elements(i, shape, begin, *count);
///       begin += *count;
///     }
///
/// All functions are pure, and may be called by any thread. Whether the model has made as many elements as
/// the requests get is the caller's to check.
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

/// One target of an entry, with its source.
struct BatchOutput {
  /// The name of the output that is cut.
  std::string target;
  /// The name of the input whose shape says how large each part is.
  std::string source;
  /// The output's dimensions as the backend sees them (a configured reshape applied), with the batch
  /// dimension in front if the model batches. -1 for the batch dimension and for those of any size.
  std::vector<int64_t> dims;
};

/// Every target of every entry of `batch_output`, in the configuration's order.
/// Errors: INVALID_ARGUMENT an output has a dimension of any size at a place where its source input has no
/// dimension.
inline Result<std::vector<BatchOutput>> batch_outputs_of(const ModelDescription& model);

/// The shape of one request's part: each -1 in the output's dimensions is replaced by the dimension that the
/// request's source input has at the same place. The product is the number of elements to cut off.
/// \param shape  its contents are replaced by the shape of the part
/// \returns the number of elements of the part.
/// Errors: INVALID_ARGUMENT the request has no source input, or too few dimensions in it; a dimension is
/// negative; the product is more than 2^63 - 1.
inline Result<uint64_t> batch_output_shape(const BatchOutput& output, const Request& request,
                                           std::vector<int64_t>& shape) noexcept;

// --- implementation ---

/// Nothing in here is for callers; it may change with any version.
namespace detail {

/// A dimension of any size, as configurations write it.
inline constexpr int64_t kVariable = -1;

/// The tensor's dimensions as the backend sees them, with the batch dimension; nothing for a tensor that the
/// model does not have.
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
      // Found at the load, so that no request has to fail for it later.
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
    // Where the request's source has no such dimension the -1 stays, and element_count() refuses it below.
    if (shape[i] == detail::kVariable && i < source->shape.size()) shape[i] = source->shape[i];
  }
  auto count = element_count(shape);
  if (count) return static_cast<uint64_t>(*count);
  return invalid_argument("batch output '", output.target, "': found shape ", shape_text(shape),
                          " for the shape ", shape_text(source->shape), " of input '", output.source,
                          "', expected dimensions of 0 or more whose product fits into 63 bits");
}

}  // namespace atl::backends
