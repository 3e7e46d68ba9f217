/// Configurations for the identity backend's tests.
#pragma once

#include <string>
#include <vector>

#include "atoll/backend.h"
#include "common/config_view.h"

namespace atl::identity {

/// `pairs` inputs INPUT<i> and outputs OUTPUT<i>.
inline inference::ModelConfig model_config(const std::string& name, DataType type,
                                           const std::vector<int64_t>& dims, int pairs = 1,
                                           int32_t max_batch_size = 0) {
  inference::ModelConfig config;
  config.set_name(name);
  config.set_backend("identity");
  config.set_max_batch_size(max_batch_size);
  for (int i = 0; i < pairs; ++i) {
    inference::ModelInput& input = *config.add_input();
    inference::ModelOutput& output = *config.add_output();
    input.set_name(cat("INPUT", i));
    output.set_name(cat("OUTPUT", i));
    input.set_data_type(backends::config_data_type_of(type));
    output.set_data_type(backends::config_data_type_of(type));
    for (int64_t dim : dims) {
      input.add_dims(dim);
      output.add_dims(dim);
    }
  }
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

}  // namespace atl::identity
