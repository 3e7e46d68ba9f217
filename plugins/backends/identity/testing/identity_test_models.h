/// Models for the identity backend's tests.
#pragma once

#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/text.h"

namespace atl::identity {

/// `pairs` inputs INPUT<i> and outputs OUTPUT<i>.
inline ModelDescription model_of(const std::string& name, DataType type, const std::vector<int64_t>& dims,
                                 int pairs = 1, uint32_t max_batch_size = 0) {
  ModelDescription model;
  model.name = name;
  model.max_batch_size = max_batch_size;
  for (int i = 0; i < pairs; ++i) {
    TensorSpec tensor;
    tensor.datatype = type;
    tensor.dims = dims;
    tensor.name = cat("INPUT", i);
    model.inputs.push_back(tensor);
    tensor.name = cat("OUTPUT", i);
    model.outputs.push_back(tensor);
  }
  return model;
}

inline ModelSource source_of(ModelDescription model) {
  ModelSource source;
  source.name = model.name;
  source.version = 1;
  source.model = std::move(model);
  return source;
}

}  // namespace atl::identity
