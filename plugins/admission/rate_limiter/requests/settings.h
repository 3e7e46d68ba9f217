/// The plugin's options about requests, read.
#pragma once

#include "atoll/options.h"
#include "atoll/status.h"
#include "requests/admission_control.h"

namespace atl::admission::requests {

struct RequestOptions {
  AdmissionSettings settings;
  bool active = false;  ///< something is limited
};

/// Errors: INVALID_ARGUMENT a quota, or options that need another one.
Result<RequestOptions> read_options(const Options& options);

}  // namespace atl::admission::requests
