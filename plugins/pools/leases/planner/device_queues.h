/// The devices of a pool, each of which executes one request after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pools/leases/planner/pool_traffic.h"

namespace atl::pools {

/// In which order a device executes what waits for it.
enum class DeviceOrder : uint8_t {
  kArrival,  ///< first come, first served
  kDeadline  ///< earliest deadline first; of equal ones the one that came first
};

/// Decides at the arrival of a request whether a device can answer it in time, and which one is to. A request that is
/// taken is never late and never given up, also when its model has no replica there any more; all others are refused at once.
/// Time is what the arrivals say. [one thread at a time]
///
/// Of the devices with a replica the one that has finished all of its work first gets the request, if it can answer in
/// time; of devices without work, therefore, the one that has had none for the longest time, and of equal ones the one
/// with the lowest number. With kDeadline the other devices are tried in ascending order, because a device with more work
/// may have later deadlines; with kArrival none of them could answer earlier.
class DeviceQueues {
 public:
  /// \param models  outlives this
  DeviceQueues(std::span<const PlannedModel> models, uint32_t devices, DeviceOrder order);

  /// For the requests that follow. Work that was taken stays where it is.
  /// \param plan  of as many devices, of models that there are
  void set_plan(const ReplicaPlan& plan);
  /// Devices have no work, as at the beginning.
  void clear();

  /// \param arrival  not earlier than the one before
  /// \returns whether it is taken, which means that it is answered in time
  bool offer(const PoolArrival& arrival);

 private:
  struct Waiting {
    int64_t deadline_us = 0;  ///< when the device has to have finished
    int64_t service_us = 0;
  };
  struct Device {
    int64_t free_us = INT64_MIN;         ///< the end of all work; at first: it has had none
    int64_t running_end_us = INT64_MIN;  ///< of the request that is executed, or was last
    std::vector<Waiting> waiting;
  };

  /// When the device has to have finished it.
  int64_t deadline_of(const PoolArrival& arrival) const noexcept;
  bool take(Device& device, const PoolArrival& arrival);
  bool take_by_deadline(Device& device, int64_t now_us, Waiting added);
  static void advance(Device& device, int64_t now_us);

  std::span<const PlannedModel> models_;
  DeviceOrder order_;
  std::vector<Device> devices_;
  std::vector<std::vector<uint32_t>> hosts_;  ///< by model: devices with a replica, in ascending order
};

/// \returns how many of the arrivals are answered in time by devices that begin without work
size_t count_in_time(std::span<const PlannedModel> models, const ReplicaPlan& plan, DeviceOrder order,
                     std::span<const PoolArrival> arrivals);

}  // namespace atl::pools
