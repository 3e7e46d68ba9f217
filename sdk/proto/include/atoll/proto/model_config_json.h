/// The JSON form of a model configuration, as clients and Triton's C API show it.
#pragma once

#include <string>
#include <string_view>

#include "atoll/status.h"

namespace atl::proto {

/// \param config  a serialized inference.ModelConfig; maps are written in the order that they have in it.
/// Field names as in the .proto file, defaults written out, unset messages left out, enums as names. 64-bit
/// numbers are strings, as protobuf's JSON has them, except for those that clients know as numbers (dims,
/// shapes, versions, times, priorities). A configuration with nothing in it gives "".
/// Errors: INTERNAL the bytes are not a configuration.
Result<std::string> model_config_json(std::string_view config);

}  // namespace atl::proto
