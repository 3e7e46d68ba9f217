/// Validation of requests against a model's configuration: the one place where what came from a client is
/// checked before it reaches schedulers and backends.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "atoll/core/status.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "models/catalog/requests/spec_names.h"

namespace atl::models {

/// The control tensor that receives the correlation id of a sequence.
struct CorrelationControl {
  std::string tensor;
  DataType datatype = DataType::kInvalid;  ///< kInvalid: the model has none
};

/// Borrows the ModelInfo. Stateless between calls. Blocks only for elements of BYTES in device memory, of
/// which it reads a copy. [request]
class Validator {
 public:
  /// \param devices  reaches elements of BYTES in device memory; null: they are not looked at
  Validator(const ModelInfo& info, CorrelationControl correlation, const DeviceMemory* devices = nullptr);

  /// Checks the request and completes it: spec_index of inputs and outputs, all outputs when none is asked
  /// for (one asked for twice is kept once), raw inputs, batch_size, and the inputs' shapes as the backend
  /// sees them. Memory comes from the request's arena. On failure the request is only good for an answer.
  /// Errors: INVALID_ARGUMENT with the protocols' texts.
  Status validate(Request& request) const noexcept;

  /// True if some input is of type BYTES: then validation takes time that grows with the request.
  bool reads_contents() const noexcept { return reads_contents_; }

 private:
  Status complete_outputs(Request& request) const noexcept;
  Status resolve_inputs(Request& request) const noexcept;
  Status find_batch_size(Request& request) const noexcept;
  Status check_input(Request& request, InputTensor& input) const noexcept;
  Status check_shape(const Request& request, const InputTensor& input, const TensorSpec& spec) const noexcept;
  Status check_size(const Request& request, const InputTensor& input) const noexcept;
  Status check_strings(const Request& request, const InputTensor& input) const noexcept;
  Status check_device_strings(const Request& request, const InputTensor& input) const noexcept;
  Status check_host_strings(const Request& request, const InputTensor& input,
                            std::span<const Buffer> buffers) const noexcept;
  Status check_correlation(const Request& request) const noexcept;

  const ModelInfo& info_;
  SpecNames input_names_;
  SpecNames output_names_;
  CorrelationControl correlation_;
  const DeviceMemory* const devices_;
  bool reads_contents_ = false;
};

/// "[request id: <id>] ", `<id_unknown>` standing for an empty id: the start of most refusals.
std::string request_prefix(const Request& request);

}  // namespace atl::models
