/// One device and its models in virtual time, over the schedulers and the admission that serve.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/deadlines/plan.h"
#include "goodput/shared_device.h"
#include "goodput/workload.h"

namespace atl::goodput {

struct DeviceRules {
  Sharing sharing = Sharing::kEqual;
  double slo_scale = 3;        ///< times the latency of a batch of one: a request is in time until then
  double noise = 0;            ///< executions take up to this share longer or shorter
  bool has_deadlines = false;  ///< admission/deadlines over all models; else each model by itself
  double target_scale = 1;     ///< latency_target_microseconds as a part of what is in time
  deadlines::PlanRules plan;
};

struct DeviceOutcome {
  uint64_t arrived = 0, in_time = 0, late = 0, refused = 0;
  double busy_share = 0;
  double batch_size = 0;         ///< on average
  std::vector<uint64_t> missed;  ///< by model

  double share() const {
    return arrived == 0 ? 1 : static_cast<double>(in_time) / static_cast<double>(arrived);
  }
};

/// \param models  with batches of n that take a + 0.3 a n
DeviceOutcome run_device(const std::vector<WorkloadModel>& models, const std::vector<Arrival>& arrivals,
                         const DeviceRules& rules);

}  // namespace atl::goodput
