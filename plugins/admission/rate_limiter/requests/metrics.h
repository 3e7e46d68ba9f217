/// What is counted, for Prometheus.
#pragma once

#include <deque>

#include "atoll/metrics.h"
#include "requests/tenant.h"

namespace atl::admission::requests {

void write_metrics(const std::deque<TenantCounts>& counts, bool overloaded, MetricSink& sink) noexcept;

}  // namespace atl::admission::requests
