/// Configurations for the repeat backend's tests.
#pragma once

#include <string>

#include "atoll/backend.h"
#include "common/config_view.h"

namespace atl::repeat {

template <class Tensor>
void set_tensor(Tensor& tensor, const std::string& name, inference::DataType type, int64_t dim) {
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.add_dims(dim);
}

/// The model of Triton's tests.
inline inference::ModelConfig model_config(const std::string& name = "repeat_int32") {
  inference::ModelConfig config;
  config.set_name(name);
  config.set_backend("repeat");
  config.mutable_model_transaction_policy()->set_decoupled(true);
  set_tensor(*config.add_input(), "IN", inference::TYPE_INT32, -1);
  set_tensor(*config.add_input(), "DELAY", inference::TYPE_UINT32, -1);
  set_tensor(*config.add_input(), "WAIT", inference::TYPE_UINT32, 1);
  set_tensor(*config.add_output(), "OUT", inference::TYPE_INT32, 1);
  set_tensor(*config.add_output(), "IDX", inference::TYPE_UINT32, 1);
  return config;
}

inline void set_parameter(inference::ModelConfig& config, const std::string& key, const std::string& value) {
  (*config.mutable_parameters())[key].set_string_value(value);
}

inline ModelSource source_of(const inference::ModelConfig& config) {
  ModelSource source;
  source.name = config.name();
  source.version = 1;
  source.config = config.SerializeAsString();
  return source;
}

}  // namespace atl::repeat
