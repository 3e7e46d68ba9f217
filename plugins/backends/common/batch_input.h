/// Inputs that a backend makes from a whole batch, such as the number of elements of each of its requests:
/// `batch_input` of a model's configuration. Pure functions of the requests' shapes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/request.h"
#include "atoll/status.h"
#include "model_config.pb.h"

namespace atl::backends {

/// One entry of the configuration.
struct BatchInput {
  using Kind = inference::BatchInput::Kind;

  Kind kind = inference::BatchInput::BATCH_ELEMENT_COUNT;
  DataType datatype = DataType::kInt32;  ///< or kFp32; either takes 4 bytes
  std::string source;                    ///< the input whose shapes say it
  std::vector<std::string> targets;      ///< the model's inputs; each gets the same value
  bool batching = false;                 ///< the first dimension of the requests' shapes is their batch
};

/// Every entry, in order. \param config  validated
std::vector<BatchInput> batch_inputs_of(const inference::ModelConfig& config);

/// The shape of the tensor for these requests, one batch in its order, and whether its values can be said.
/// \param shape  its contents are replaced
/// \returns the tensor's bytes.
/// Errors: INVALID_ARGUMENT a request without the source input or with another number of dimensions in it
/// than the first; a value that does not fit into INT32 or that FP32 does not hold exactly; a total beyond
/// 2^63 - 1.
Result<uint64_t> batch_input_shape(const BatchInput& input, std::span<Request* const> requests,
                                   std::vector<int64_t>& shape) noexcept;

/// Writes the values for requests that batch_input_shape() accepted. `to` may be larger than the tensor, for
/// a model that takes padded batches: the rest repeats the last sum if the kind accumulates, else it is 0.
/// BATCH_MAX_ELEMENT_COUNT_AS_SHAPE is all 0, so that no model gets to see what the memory held before.
void write_batch_input(const BatchInput& input, std::span<Request* const> requests,
                       std::span<std::byte> to) noexcept;

}  // namespace atl::backends
