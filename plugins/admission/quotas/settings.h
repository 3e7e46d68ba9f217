/// The plugin's options about requests, read.
#pragma once

#include "admission/quotas/admission_control.h"
#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"

namespace atl::quotas {

struct RequestOptions {
  AdmissionSettings settings;
  bool active = false;  ///< something is limited
};

/// Errors: INVALID_ARGUMENT a quota, or options that need another one.
void check_options(OptionCheck& check);
Result<RequestOptions> read_options(const Options& options);

}  // namespace atl::quotas
