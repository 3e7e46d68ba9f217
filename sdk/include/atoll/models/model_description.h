/// What a model's configuration says of the model itself, in plain structs: names, types, shapes, parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/tensor.h"

namespace atl {

struct TensorSpec {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;     ///< as configured, without the batch dimension; -1: variable
  std::vector<int64_t> reshape;  ///< what the backend sees; valid if has_reshape
  bool has_reshape = false;
  bool optional = false;  ///< inputs only
  bool shape_tensor = false;
  bool allow_ragged = false;  ///< inputs only
  bool non_linear_format = false;
  std::vector<std::string> labels;  ///< outputs only: line i labels index i

  /// Without the batch dimension; -1: variable.
  const std::vector<int64_t>& backend_dims() const noexcept { return has_reshape ? reshape : dims; }
};

/// An input that the backend makes from a whole batch, such as the number of elements of each of its
/// requests: one entry of `batch_input`.
struct BatchInputSpec {
  /// Numbers of ModelConfig's BatchInput.Kind, whose comments say what each is.
  enum class Kind : uint32_t {
    kElementCount = 0,
    kAccumulatedElementCount = 1,
    kAccumulatedElementCountWithZero = 2,
    kMaxElementCountAsShape = 3,
    kItemShape = 4,
    kItemShapeFlatten = 5,
  };
  Kind kind = Kind::kElementCount;
  DataType datatype = DataType::kInvalid;
  std::vector<std::string> targets;  ///< the model's inputs that get it
  std::vector<std::string> sources;  ///< the requests' inputs whose shapes say it
};

/// Outputs that are cut by the shapes of an input: one entry of `batch_output`.
struct BatchOutputSpec {
  std::vector<std::string> targets;  ///< outputs
  std::vector<std::string> sources;  ///< inputs
};

/// For backends that need nothing else of a configuration: no protobuf. Reading is thread safe.
struct ModelDescription {
  std::string name;
  uint32_t max_batch_size = 0;  ///< 0: tensors have no batch dimension
  bool decoupled = false;       ///< a request may have any number of responses
  std::string default_model_filename;
  std::vector<TensorSpec> inputs;   ///< in the configuration's order
  std::vector<TensorSpec> outputs;  ///< the same; without labels
  std::map<std::string, std::string, std::less<>> parameters;
  std::vector<BatchInputSpec> batch_inputs;
  std::vector<BatchOutputSpec> batch_outputs;

  /// Null: the model has none of this name.
  const TensorSpec* find_input(std::string_view tensor) const noexcept { return find(inputs, tensor); }
  const TensorSpec* find_output(std::string_view tensor) const noexcept { return find(outputs, tensor); }

 private:
  static const TensorSpec* find(const std::vector<TensorSpec>& specs, std::string_view tensor) noexcept {
    for (const TensorSpec& spec : specs) {
      if (spec.name == tensor) return &spec;
    }
    return nullptr;
  }
};

}  // namespace atl
