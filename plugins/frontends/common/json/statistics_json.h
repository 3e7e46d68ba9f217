/// Statistics of models as JSON. Member order is the protocol's.
#pragma once

#include <string>

#include "grpc_service.pb.h"

namespace atl::frontends {

/// {"model_stats":[{"name","version","last_inference","inference_count","execution_count","inference_stats",
/// "response_stats","batch_stats","memory_usage"}]}; every duration is {"count","ns"}.
std::string statistics_json(const inference::ModelStatisticsResponse& statistics);

}  // namespace atl::frontends
