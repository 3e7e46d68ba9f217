/// What the repeat backend needs to know of a model's configuration, and whether it can serve it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"

namespace atl::repeat {

inline constexpr std::string_view kIn = "IN", kDelay = "DELAY", kWait = "WAIT";
inline constexpr std::string_view kOut = "OUT", kIdx = "IDX";

struct RepeatConfig {
  std::string model;             ///< its name, for messages
  bool final_with_last = false;  ///< the last response carries the final flag
  int64_t fail_at = -1;          ///< index that is answered with an error; -1: none
};

/// Errors: INVALID_ARGUMENT names the model and the field or tensor, what was found and what was expected.
Result<RepeatConfig> read_repeat_config(const ModelDescription& model);

}  // namespace atl::repeat
