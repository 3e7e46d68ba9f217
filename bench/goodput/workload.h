/// Models and the requests that come for them, from a seed.
#pragma once

#include <cstdint>
#include <vector>

namespace atl::goodput {

struct Arrival {
  int64_t at_ns;
  uint32_t model;
};

struct WorkloadModel {
  double latency_ns = 0;  ///< of a batch of one
  double share = 0;       ///< of the rate of all
};

/// \param count of models, whose latencies are spread evenly over the logarithms of 2 to 50 ms, and whose rates
/// follow rank^-0.5; which latency has which rank the seed says
std::vector<WorkloadModel> device_models(uint32_t count, uint64_t seed);

/// Renewals whose gaps have a Gamma distribution with that coefficient of variation, of each model by itself.
/// Sorted by time. \param per_second  requests of all models
std::vector<Arrival> gamma_arrivals(const std::vector<WorkloadModel>& models, double per_second,
                                    double variation, double seconds, uint64_t seed);

}  // namespace atl::goodput
