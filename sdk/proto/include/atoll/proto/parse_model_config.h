/// A configuration as it crosses interfaces, as the message.
#pragma once

#include <cstdint>
#include <string_view>

#include "model_config.pb.h"

namespace atl::proto {

/// \returns false: the bytes are no serialized inference.ModelConfig, or more than protobuf can read; what is
/// in `config` then means nothing.
inline bool parse_model_config(std::string_view bytes, inference::ModelConfig* config) {
  return bytes.size() <= INT32_MAX && config->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace atl::proto
