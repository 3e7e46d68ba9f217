/// ModelConfig to bytes.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// The wire format with maps in the order of their keys: equal configurations give equal bytes, so that
/// whoever keeps the bytes can tell whether something changed.
Result<std::string> serialize(const inference::ModelConfig& config);

}  // namespace atl::pbtxt
