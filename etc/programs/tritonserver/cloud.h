/// The endpoints that clouds call: each an address of its own, which answers the cloud's paths only.
#pragma once

#include "launch.h"
#include "launch_options.h"

namespace atl::tritonserver {

/// What the environment says of them, before other options are judged: with AIP_MODE=PREDICTION HTTP and gRPC are off unless
/// flags switch them on, and AIP_STORAGE_URI is the repository if no flag names one.
void read_cloud_environment(LaunchOptions& options, const LaunchContext& context);

/// Their plugins and addresses. Errors: a port that is none, or not in the range of --sagemaker-safe-port-range.
Status set_clouds(LaunchOptions& options, const LaunchContext& context);

}  // namespace atl::tritonserver
