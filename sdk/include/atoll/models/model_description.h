/// What a model's configuration says of the model itself, in plain structs: names, types, shapes, parameters.
/// A backend gets one in ModelSource::model, so most backends need no protobuf, and neither do their tests:
///
///     const TensorSpec* input = source.model.find_input("LOGITS");
///     if (input == nullptr || input->datatype != DataType::kFp32) {
///       return invalid_argument("model '", source.model.name, "': expected an input 'LOGITS' of TYPE_FP32");
///     }
///
/// Names in quotes or backquotes below are fields of Triton's ModelConfig.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/tensor.h"

namespace atl {

/// An input or output of a model: an entry of `input` or `output`.
struct TensorSpec {
  std::string name;
  DataType datatype = DataType::kInvalid;
  /// The shape as configured, without the batch dimension; -1: of any size.
  std::vector<int64_t> dims;
  /// The shape that the backend sees instead of `dims`, if has_reshape; it may be empty (a scalar for each
  /// item).
  std::vector<int64_t> reshape;
  bool has_reshape = false;
  /// A request may leave it out. Inputs only.
  bool optional = false;
  /// `is_shape_tensor`: its values are a shape. It has no batch dimension.
  bool shape_tensor = false;
  /// `allow_ragged_batch`: requests of one batch may give it with different shapes. Inputs only.
  bool allow_ragged = false;
  /// `is_non_linear_format_io`: elements are not in row-major order, so the size in bytes is not checked.
  bool non_linear_format = false;
  /// The lines of the file `label_filename`: line i labels index i. Outputs only, and only in ModelInfo.
  std::vector<std::string> labels;

  /// The shape that the backend sees, without the batch dimension; -1: of any size.
  const std::vector<int64_t>& backend_dims() const noexcept { return has_reshape ? reshape : dims; }
};

/// An input that the backend makes from a whole batch, such as the number of elements of each of its
/// requests: an entry of `batch_input`. atoll/backend/batch_input.h makes its values.
struct BatchInputSpec {
  /// What the values are. The numbers are those of BatchInput.Kind in model_config.proto. Elements are
  /// counted in the source input of each request; the values of one batch stand in the order of its requests.
  enum class Kind : uint32_t {
    /// BATCH_ELEMENT_COUNT: for each request, its number of elements.
    kElementCount = 0,
    /// BATCH_ACCUMULATED_ELEMENT_COUNT: for each request, the elements up to and including it.
    kAccumulatedElementCount = 1,
    /// The same with a 0 in front: one value more than there are requests.
    kAccumulatedElementCountWithZero = 2,
    /// BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: a tensor whose only dimension is the largest number of elements of a
    /// request. Its shape is what the model wants; its values say nothing.
    kMaxElementCountAsShape = 3,
    /// BATCH_ITEM_SHAPE: for each item of the batch its shape without the batch dimension, as a row of a
    /// tensor [items, rank].
    kItemShape = 4,
    /// BATCH_ITEM_SHAPE_FLATTEN: the same values in one dimension.
    kItemShapeFlatten = 5,
  };
  Kind kind = Kind::kElementCount;
  /// The type of the values: INT32 or FP32.
  DataType datatype = DataType::kInvalid;
  /// The model's inputs that get the tensor, each the same.
  std::vector<std::string> targets;
  /// The requests' inputs whose shapes say the values; one for every kind there is.
  std::vector<std::string> sources;
};

/// Outputs that are cut by the shapes of an input, because the requests of a batch got different numbers of
/// elements: an entry of `batch_output`. atoll/backend/batch_output.h computes the cuts.
struct BatchOutputSpec {
  /// The outputs that are cut.
  std::vector<std::string> targets;
  /// The inputs whose shapes say where.
  std::vector<std::string> sources;
};

/// The model as a whole. Reading is thread safe; nobody changes it after the load began.
struct ModelDescription {
  std::string name;
  /// 0: the model does not batch, and tensors have no batch dimension.
  uint32_t max_batch_size = 0;
  /// A request may have any number of responses (`model_transaction_policy`).
  bool decoupled = false;
  /// The file in the version's folder that the backend loads, if the configuration names one; empty: the
  /// backend has a name of its own.
  std::string default_model_filename;
  /// In the configuration's order.
  std::vector<TensorSpec> inputs;
  /// In the configuration's order, without labels.
  std::vector<TensorSpec> outputs;
  /// `parameters`, by key, with their string_value. atoll/backend/parameters.h reads them as numbers and so
  /// on.
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
