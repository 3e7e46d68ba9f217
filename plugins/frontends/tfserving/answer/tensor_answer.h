/// The outputs of a model as TensorFlow Serving's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/tensor.h"

namespace atl::frontends::tfserving {

/// One output of a call, joined from those of its requests.
struct TakenTensor {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// Adds a copy of an output of a response.
/// Errors: INTERNAL it is in memory of a GPU, or its bytes do not fit its shape.
Status append_output(const OutputTensor& output, std::vector<TakenTensor>& taken);
/// Puts the rows of an output behind those of the same name; further rows of one call.
/// Errors: INTERNAL the rows before have another form.
Status join(TakenTensor more, std::vector<TakenTensor>& taken);

/// Of a :predict: {"predictions": [...]} with one item a row, or {"outputs": ...}. A single output has no name.
/// \param rows  of a row format
/// Errors: INTERNAL no output, another number of rows; INVALID_ARGUMENT bytes that are no UTF-8 in an output whose name does
/// not end in "_bytes".
Result<std::string> predict_json(const std::vector<TakenTensor>& outputs, bool is_row, int64_t rows);
/// {"result": [[[label, score], ...], ...]}. Errors: INVALID_ARGUMENT the model has no output for classes, and none for scores;
/// those of predict_json().
Result<std::string> classify_json(const std::vector<TakenTensor>& outputs, const ModelInfo& model,
                                  int64_t rows);
/// {"result": [value, ...]}. Errors: INVALID_ARGUMENT the model has no output with one number a row; those of predict_json().
Result<std::string> regress_json(const std::vector<TakenTensor>& outputs, int64_t rows);

}  // namespace atl::frontends::tfserving
