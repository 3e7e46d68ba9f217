/// How long a decision about a request takes, by the wall clock.
#pragma once

namespace atl::goodput {

/// Prints p50 and p99 of requests that are taken and refused, with 1,000 models on a device.
void measure_decisions();

}  // namespace atl::goodput
