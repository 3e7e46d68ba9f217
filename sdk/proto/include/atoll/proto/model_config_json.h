/// The JSON form of a model configuration, as clients and Triton's C API show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::proto {

/// \param config  a serialized inference.ModelConfig; maps are written in the order that they have in it.
/// Field names as in the .proto file, defaults written out, unset messages left out, enums as names. 64-bit
/// numbers are strings, as protobuf's JSON has them, except for those that clients know as numbers (dims,
/// shapes, versions, times, priorities). A configuration with nothing in it gives "".
/// Errors: INTERNAL the bytes are not a configuration.
Result<std::string> model_config_json(std::string_view config);

/// Longest text that is read.
inline constexpr size_t kConfigJsonBytesMax = 16 * 1024 * 1024;

/// The other way round: a serialized inference.ModelConfig. Names of fields as in the .proto file or in camel
/// case, names of enum values in any case, 64-bit numbers as numbers or strings.
/// Errors: INVALID_ARGUMENT with the parser's reason: no JSON object, a member twice, a field that does not
/// exist or is of another type, nesting deeper than the parser goes, or longer than kConfigJsonBytesMax.
Result<std::string> model_config_from_json(std::string_view json);

}  // namespace atl::proto
