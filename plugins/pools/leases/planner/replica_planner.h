/// How many replicas each model of a pool has, and where: by simulation of what has arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "pools/leases/planner/device_queues.h"
#include "pools/leases/planner/pool_traffic.h"

namespace atl::pools {

/// How far back a plan looks.
struct PlanMemory {
  int64_t half_life_us = 0;  ///< after which an arrival counts half as much; 0: all count the same
  int64_t interval_us = 0;   ///< its plan is looked at so long after the last time, or later
};

struct PlannerSettings {
  uint32_t devices = 0;
  uint64_t capacity = 0;  ///< quota of each device
  DeviceOrder order = DeviceOrder::kDeadline;
  std::vector<PlanMemory> memories = {{0, 30'000'000}, {10'000'000, 0}};
  uint32_t first_simulations = 300;  ///< of the first plan, each with one replica elsewhere
  uint32_t simulations = 20;         ///< of each further plan and each memory
  size_t arrivals_max = 40'000;      ///< that are remembered, the newest ones
  uint64_t seed = 1;
};

/// The models in turns to the devices, until nothing more has room: first what replicas_min asks for.
ReplicaPlan spread_replicas(std::span<const PlannedModel> models, uint32_t devices, uint64_t capacity);

/// Plans from the past alone. Long and short memories each have a plan of their own, which is changed by one replica at a
/// time as long as the simulation of what is remembered answers more requests in time. Which memory is right depends on the
/// traffic: what arrives is executed by the plan of each in virtual time, and the plan of the one whose requests were in
/// time most often, lately, is the pool's.
///
/// The same arrivals and calls give the same plans. Takes milliseconds to seconds, so it runs where no request waits.
/// [one thread at a time]
class ReplicaPlanner {
 public:
  /// Until the first call of replan() the plan is that of spread_replicas().
  /// \param models  outlives this
  /// \param settings  with at least one device and one memory
  ReplicaPlanner(std::span<const PlannedModel> models, PlannerSettings settings);

  /// \param arrival  not earlier than the one before; of a model that there is
  void observe(const PoolArrival& arrival);
  /// \param now_us  not earlier than the last arrival; since the last call requests of some seconds should have come
  const ReplicaPlan& replan(int64_t now_us);
  const ReplicaPlan& plan() const noexcept { return memories_[chosen_].plan; }

 private:
  struct Memory {
    PlanMemory rules;
    int64_t due_us = INT64_MIN;  ///< when its plan is looked at again
    ReplicaPlan plan;
    DeviceQueues devices;  ///< executes what arrives by that plan
    double in_time = 0;    ///< of what arrived; what is long ago counts less
  };
  /// What a plan would have done.
  struct Outcome {
    double in_time = 0;
    std::vector<double> missed;  ///< by model
  };

  void improve(Memory& memory, int64_t now_us, uint32_t simulations);
  std::pair<std::span<const PoolArrival>, std::vector<double>> remembered(const Memory& memory,
                                                                          int64_t now_us) const;
  Outcome simulate(const ReplicaPlan& plan, std::span<const PoolArrival> arrivals,
                   std::span<const double> weights) const;
  bool change(ReplicaPlan& plan, const std::vector<double>& missed, double total);
  uint32_t draw_model(const std::vector<double>& missed, double total);
  bool remove_one(std::vector<uint32_t>& device, const ReplicaPlan& plan);
  uint64_t free_quota(const std::vector<uint32_t>& device) const;
  void choose();

  std::span<const PlannedModel> models_;
  PlannerSettings settings_;
  std::mt19937_64 random_;
  std::vector<PoolArrival> arrivals_;  ///< by time; more than arrivals_max now and then
  std::vector<Memory> memories_;
  size_t chosen_ = 0;
  double seen_ = 0;         ///< arrivals, counted as Memory::in_time
  int64_t counted_us_ = 0;  ///< when those were last made to count less
  bool has_planned_ = false;
};

}  // namespace atl::pools
