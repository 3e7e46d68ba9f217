/// What the wire format and the text format let through but nobody downstream could handle.
#pragma once

#include "atoll/core/status.h"
#include "configs/pbtxt/checks/findings.h"
#include "configs/pbtxt/source_map.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// Every string (keys of maps too) must be UTF-8, or the message could not be serialized; every enum must
/// have a known value, but for the kinds of batch inputs and outputs, which a rule of their own refuses.
void check_values(const inference::ModelConfig& config, Findings& findings);
/// The first failure: INVALID_ARGUMENT "<field> ..." with the field's place as note.
Status check_values(const inference::ModelConfig& config, const SourceMap& source);

}  // namespace atl::pbtxt
