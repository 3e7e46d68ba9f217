/// What a client is told whose request was not admitted.
#pragma once

#include "admission/quotas/admission_control.h"
#include "atoll/core/status.h"

namespace atl::quotas {

/// RESOURCE_EXHAUSTED for what is its tenant's, UNAVAILABLE for what is the server's, DEADLINE_EXCEEDED, or
/// CANCELLED without a text. Of a waiter that is refused.
Status refusal_status(const Waiter& waiter, const AdmissionSettings& settings);

}  // namespace atl::quotas
