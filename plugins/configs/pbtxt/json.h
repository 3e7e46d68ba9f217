/// The JSON form of a configuration, as the configuration endpoint shows it.
#pragma once

#include <string>

#include "atoll/status.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// Field names as in the .proto file, defaults written out, unset messages left out, enums as names. 64-bit
/// numbers are strings, as protobuf's JSON has them, except for those that clients know as numbers (dims,
/// shapes, versions, times, priorities). A configuration with nothing in it gives "".
/// Source: model configuration, "JSON form".
Result<std::string> to_json(const inference::ModelConfig& config);

}  // namespace atl::pbtxt
