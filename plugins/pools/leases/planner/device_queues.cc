#include "pools/leases/planner/device_queues.h"

#include <algorithm>
#include <numeric>

namespace atl::pools {

DeviceQueues::DeviceQueues(std::span<const PlannedModel> models, uint32_t devices, DeviceOrder order)
    : models_(models), order_(order), devices_(devices), hosts_(models.size()) {}

void DeviceQueues::set_plan(const ReplicaPlan& plan) {
  for (auto& hosts : hosts_) hosts.clear();
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    for (const uint32_t model : plan.devices[device]) hosts_[model].push_back(device);
  }
}

void DeviceQueues::clear() {
  for (Device& device : devices_) device = {};
}

bool DeviceQueues::offer(const PoolArrival& arrival) {
  const std::vector<uint32_t>& hosts = hosts_[arrival.model];
  if (hosts.empty()) return false;
  const auto first =
      std::ranges::min_element(hosts, {}, [&](uint32_t device) { return devices_[device].free_us; });
  if (take(devices_[*first], arrival)) return true;
  if (order_ == DeviceOrder::kArrival) return false;
  // Behind all other work it would be late everywhere, so only those have a place for it that have later deadlines.
  const int64_t deadline_us = deadline_of(arrival);
  return std::ranges::any_of(hosts, [&](uint32_t host) {
    Device& device = devices_[host];
    return host != *first && !device.waiting.empty() && device.waiting.back().deadline_us > deadline_us &&
           take(device, arrival);
  });
}

bool DeviceQueues::take(Device& device, const PoolArrival& arrival) {
  const int64_t service_us = models_[arrival.model].service_us;
  const int64_t end_us = std::max(device.free_us, arrival.at_us) + service_us;
  if (order_ == DeviceOrder::kDeadline) {
    if (!take_by_deadline(device, arrival.at_us, {deadline_of(arrival), service_us})) return false;
  } else if (end_us > deadline_of(arrival)) {
    return false;
  }
  device.free_us = end_us;
  return true;
}

bool DeviceQueues::take_by_deadline(Device& device, int64_t now_us, Waiting added) {
  advance(device, now_us);
  if (device.running_end_us <= now_us) {  // it starts at once: nothing waits
    if (now_us + added.service_us > added.deadline_us) return false;
    device.running_end_us = now_us + added.service_us;
    return true;
  }
  const auto after = std::ranges::upper_bound(device.waiting, added.deadline_us, {}, &Waiting::deadline_us);
  int64_t end_us = std::accumulate(device.waiting.begin(), after, device.running_end_us + added.service_us,
                                   [](int64_t sum, const Waiting& one) { return sum + one.service_us; });
  if (end_us > added.deadline_us) return false;
  for (auto later = after; later != device.waiting.end(); ++later) {
    end_us += later->service_us;
    if (end_us > later->deadline_us) return false;
  }
  device.waiting.insert(after, added);
  return true;
}

int64_t DeviceQueues::deadline_of(const PoolArrival& arrival) const noexcept {
  const PlannedModel& model = models_[arrival.model];
  return arrival.at_us + model.deadline_us - model.margin_us;
}

/// Starts what waits, up to now: what ends now has made room for what arrives now.
void DeviceQueues::advance(Device& device, int64_t now_us) {
  auto next = device.waiting.begin();
  for (; next != device.waiting.end() && device.running_end_us <= now_us; ++next) {
    device.running_end_us += next->service_us;
  }
  device.waiting.erase(device.waiting.begin(), next);
}

size_t count_in_time(std::span<const PlannedModel> models, const ReplicaPlan& plan, DeviceOrder order,
                     std::span<const PoolArrival> arrivals) {
  DeviceQueues queues(models, static_cast<uint32_t>(plan.devices.size()), order);
  queues.set_plan(plan);
  return static_cast<size_t>(
      std::ranges::count_if(arrivals, [&](const PoolArrival& arrival) { return queues.offer(arrival); }));
}

}  // namespace atl::pools
