/// Traffic of a pool and where its models have replicas, as numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace atl::pools {

/// A request for one model.
struct PoolArrival {
  int64_t at_us = 0;
  uint32_t model = 0;  ///< its index
};

/// What is known of a model.
struct PlannedModel {
  int64_t service_us = 0;   ///< that a device is busy with one request; more than 0
  int64_t deadline_us = 0;  ///< after its arrival a request has to be answered
  int64_t margin_us = 0;    ///< an answer is expected this long after the device has finished
  uint64_t quota = 1;       ///< that a replica takes of its device
  uint32_t replicas_min = 0;
  uint32_t replicas_max = UINT32_MAX;
};

/// The models of each device, in ascending order and each at most once on a device.
struct ReplicaPlan {
  std::vector<std::vector<uint32_t>> devices;

  bool operator==(const ReplicaPlan&) const = default;
};

}  // namespace atl::pools
