/// Records as an OTLP ExportTraceServiceRequest in its JSON encoding.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/trace/record.h"

namespace atl::tracing {

/// Each record becomes a span "InferRequest" with the moments of the frontend, below it a span of the model's
/// name for each request, and below that a span "compute" if the request was executed.
/// \param ids  of the compute spans
std::string otlp_text(std::span<const std::unique_ptr<Record>> records,
                      std::span<const std::pair<std::string, std::string>> resource, IdSource& ids);

}  // namespace atl::tracing
