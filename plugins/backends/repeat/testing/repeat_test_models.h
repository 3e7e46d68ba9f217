/// Models for the repeat backend's tests.
#pragma once

#include <string>
#include <utility>

#include "atoll/backend/backend.h"

namespace atl::repeat {

inline TensorSpec tensor(std::string name, DataType type, int64_t dim) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.datatype = type;
  spec.dims = {dim};
  return spec;
}

/// The model of Triton's tests.
inline ModelDescription model_of(const std::string& name = "repeat_int32") {
  ModelDescription model;
  model.name = name;
  model.decoupled = true;
  model.inputs = {tensor("IN", DataType::kInt32, -1), tensor("DELAY", DataType::kUint32, -1),
                  tensor("WAIT", DataType::kUint32, 1)};
  model.outputs = {tensor("OUT", DataType::kInt32, 1), tensor("IDX", DataType::kUint32, 1)};
  return model;
}

inline ModelSource source_of(ModelDescription model) {
  ModelSource source;
  source.name = model.name;
  source.version = 1;
  source.model = std::move(model);
  return source;
}

}  // namespace atl::repeat
