/// Outputs that are cut by the shapes of an input: `batch_output` of a model's configuration. The model's
/// tensor holds the requests' elements one after the other, in whatever shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/request.h"
#include "atoll/status.h"
#include "model_config.pb.h"

namespace atl::backends {

/// One target of a BATCH_SCATTER_WITH_INPUT_SHAPE entry.
struct BatchOutput {
  std::string target;         ///< the output
  std::string source;         ///< the input whose shape fills in what is variable
  std::vector<int64_t> dims;  ///< as the backend sees the output; the batch dimension, if there is one, is -1
};

/// Every target of every entry.
/// Errors: INVALID_ARGUMENT a variable dimension of the output at a place where the source has none.
Result<std::vector<BatchOutput>> batch_outputs_of(const inference::ModelConfig& config);

/// The shape of the request's part: each -1 of the output's dimensions is what the request's source input
/// has in the same place. Its product is the number of elements to cut off.
/// \param shape  its contents are replaced
/// \returns the number of elements.
/// Errors: INVALID_ARGUMENT no source input in the request, or too few dimensions in it, or a product beyond
/// 2^63 - 1.
Result<uint64_t> batch_output_shape(const BatchOutput& output, const Request& request,
                                    std::vector<int64_t>& shape) noexcept;

}  // namespace atl::backends
