/// What a served version needs to know of its configuration, taken out of the ModelConfig once when it loads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "models/catalog/requests/validate.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// Errors: INTERNAL the bytes are no ModelConfig.
Status parse_config(std::string_view bytes, inference::ModelConfig* config);

/// Fills ModelInfo from a final configuration; reads the label files of the outputs. [worker]
/// \param bytes  what config was parsed from
/// Errors: those of read_label_file(); INVALID_ARGUMENT a name appears twice or max_batch_size is negative.
Result<ModelInfo> make_model_info(const inference::ModelConfig& config, std::string bytes, int64_t version,
                                  const std::string& model_directory);

/// Of a model with sequence_batching; else, and without such a control, datatype is kInvalid.
CorrelationControl find_correlation_control(const inference::ModelConfig& config);

}  // namespace atl::models
