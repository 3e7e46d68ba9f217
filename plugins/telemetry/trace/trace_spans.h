/// What a record says as spans: names, begins and ends.
#pragma once

#include <cstdint>

#include "atoll/request/trace_log.h"
#include "telemetry/trace/record.h"

namespace atl::tracing {

/// From its first moment to its end. [any]
int64_t duration_of(const Record& record) noexcept;

/// A trace for people who look at it; its id is to be set. Tensors are left out. What would take it over the bytes is left out,
/// too, and counted: the first requests are kept. [any]
FinishedTrace finished_trace(const Record& record, uint64_t bytes_max);

/// Memory that it takes, about.
uint64_t size_of(const FinishedTrace& trace) noexcept;

}  // namespace atl::tracing
