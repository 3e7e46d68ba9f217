/// Steps that are due, of whatever runs.
#pragma once

#include "atoll/core/intrusive_list.h"
#include "schedulers/ensemble/step_run.h"

namespace atl::ensemble {

using StepList = IntrusiveList<StepRun>;

}  // namespace atl::ensemble
