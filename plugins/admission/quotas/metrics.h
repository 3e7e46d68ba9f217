/// What is counted, for Prometheus.
#pragma once

#include <deque>

#include "admission/quotas/tenant.h"
#include "atoll/core/metrics.h"

namespace atl::quotas {

void write_metrics(const std::deque<TenantCounts>& counts, bool overloaded, MetricSink& sink) noexcept;

}  // namespace atl::quotas
