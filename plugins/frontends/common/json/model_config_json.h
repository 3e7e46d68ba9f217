/// A model's configuration as JSON.
#pragma once

#include <string>

#include "model_config.pb.h"

namespace atl::frontends {

/// As protobuf writes it, with its field names, enums by name, and everything written out but messages and
/// members of a oneof that are not set. Unlike there, 64-bit integers are numbers, as clients of this
/// protocol expect, and members of maps are ordered by key.
std::string model_config_json(const inference::ModelConfig& config);

}  // namespace atl::frontends
