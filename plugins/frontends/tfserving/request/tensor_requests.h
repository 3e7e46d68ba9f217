/// From bodies of calls to the inputs of the model that they are for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "frontends/tfserving/request/given_tensor.h"

namespace atl::frontends::tfserving {

/// The signature that each model has.
inline constexpr std::string_view kDefaultSignature = "serving_default";

struct TensorRequest {
  bool is_row = true;  ///< "instances" or "examples", as opposed to "inputs"
  int64_t rows = 0;    ///< of the row format
  std::vector<GivenTensor> inputs;
};

/// The name of the model's signature: what its parameter TF_SIGNATURE_DEF says, or kDefaultSignature.
std::string signature_of(const ModelInfo& model);

/// The body of a :predict. \param max_elements  of all inputs together
/// Errors: INVALID_ARGUMENT no JSON, no such signature, wrong inputs or values; the text names the input, the index and what
/// was expected.
Result<TensorRequest> read_predict(std::string_view body, const ModelInfo& model, uint64_t max_elements);
/// The body of a :classify or :regress: features of examples become inputs of the same names. Errors: as read_predict().
Result<TensorRequest> read_examples(std::string_view body, const ModelInfo& model, uint64_t max_elements);

}  // namespace atl::frontends::tfserving
