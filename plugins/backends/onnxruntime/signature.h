/// What a loaded ONNX model takes and gives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/tensor.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {

struct OnnxTensor {
  std::string name;
  DataType datatype = DataType::kInvalid;  ///< kInvalid: nothing the protocol can carry, see type_text
  std::string type_text;                   ///< for messages: "FP32", "sequence", "ONNX element type 17"
  std::vector<int64_t> dims;               ///< -1: variable. Empty: a scalar, or the model does not say.
  bool has_default = false;                ///< inputs: an initializer stands in when none is given
};

struct Signature {
  std::vector<OnnxTensor> inputs;  ///< required ones first, then those with a default
  std::vector<OnnxTensor> outputs;
  size_t required_inputs = 0;

  const OnnxTensor* find_input(std::string_view name) const noexcept;
  const OnnxTensor* find_output(std::string_view name) const noexcept;
};

/// For messages: "INPUT0, INPUT1".
std::string names_of(const std::vector<OnnxTensor>& tensors);

Result<Signature> read_signature(const OrtSession& session) noexcept;

}  // namespace atl::ort
