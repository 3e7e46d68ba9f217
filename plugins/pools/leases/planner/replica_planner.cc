#include "pools/leases/planner/replica_planner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace atl::pools {
namespace {

/// A replica moves only for so many more of all requests in time: less is chance.
constexpr double kGainMin = 0.0005;
/// Models without misses are tried, too, as if so many of all requests had been misses of theirs.
constexpr double kCuriosity = 0.002;
/// Memories are compared by the last minutes: after so long a request counts half as much.
constexpr double kComparedUs = 300e6;
/// Another memory's plan is taken if it is better by so many standard deviations of that many requests.
constexpr double kBetter = 0.3;
/// What is older counts less than a 250th.
constexpr int64_t kHalfLives = 8;

size_t replicas(const ReplicaPlan& plan, uint32_t model) {
  return static_cast<size_t>(std::ranges::count_if(
      plan.devices, [&](const auto& device) { return std::ranges::binary_search(device, model); }));
}

void add(std::vector<uint32_t>& device, uint32_t model) {
  device.insert(std::ranges::upper_bound(device, model), model);
}

uint64_t used_quota(std::span<const PlannedModel> models, const std::vector<uint32_t>& device) {
  return std::accumulate(device.begin(), device.end(), uint64_t{0},
                         [&](uint64_t sum, uint32_t model) { return sum + models[model].quota; });
}

/// Gives the model a replica on the first device with room, beginning with `next`, which is the one behind it then.
bool spread(std::span<const PlannedModel> models, uint64_t capacity, uint32_t model, ReplicaPlan& plan,
            size_t& next) {
  const size_t count = plan.devices.size();
  for (size_t i = 0; i < count; ++i) {
    std::vector<uint32_t>& device = plan.devices[(next + i) % count];
    const uint64_t used = used_quota(models, device);
    if (models[model].quota > capacity - used || std::ranges::binary_search(device, model)) continue;
    add(device, model);
    next = (next + i + 1) % count;
    return true;
  }
  return false;
}

}  // namespace

ReplicaPlan spread_replicas(std::span<const PlannedModel> models, uint32_t devices, uint64_t capacity) {
  ReplicaPlan plan{std::vector<std::vector<uint32_t>>(devices)};
  size_t next = 0;
  for (const bool is_asked_for : {true, false}) {
    for (bool has_placed = true; has_placed;) {
      has_placed = false;
      for (uint32_t model = 0; model < models.size(); ++model) {
        const size_t wanted = is_asked_for ? models[model].replicas_min : models[model].replicas_max;
        if (replicas(plan, model) < wanted) has_placed |= spread(models, capacity, model, plan, next);
      }
    }
  }
  return plan;
}

ReplicaPlanner::ReplicaPlanner(std::span<const PlannedModel> models, PlannerSettings settings)
    : models_(models), settings_(std::move(settings)), random_(settings_.seed) {
  const ReplicaPlan first = spread_replicas(models_, settings_.devices, settings_.capacity);
  for (const PlanMemory& memory : settings_.memories) {
    memories_.push_back({memory, INT64_MIN, first, {models_, settings_.devices, settings_.order}});
    memories_.back().devices.set_plan(first);
  }
}

void ReplicaPlanner::observe(const PoolArrival& arrival) {
  // What is too old goes in large pieces.
  if (arrivals_.size() >= settings_.arrivals_max + settings_.arrivals_max / 4 + 1) {
    arrivals_.erase(arrivals_.begin(), arrivals_.end() - static_cast<ptrdiff_t>(settings_.arrivals_max));
  }
  arrivals_.push_back(arrival);
  seen_ += 1;
  for (Memory& memory : memories_) memory.in_time += memory.devices.offer(arrival) ? 1 : 0;
}

const ReplicaPlan& ReplicaPlanner::replan(int64_t now_us) {
  for (Memory& memory : memories_) {
    if (!has_planned_ && &memory != memories_.data()) {
      memory.plan = memories_.front().plan;  // none of them knows more than the other, yet
    } else if (now_us >= memory.due_us) {
      memory.due_us = now_us + memory.rules.interval_us;
      improve(memory, now_us, has_planned_ ? settings_.simulations : settings_.first_simulations);
    }
    memory.devices.set_plan(memory.plan);
  }
  has_planned_ = true;
  choose();
  const double kept = std::exp2(-static_cast<double>(now_us - counted_us_) / kComparedUs);
  for (Memory& memory : memories_) memory.in_time *= kept;
  seen_ *= kept;
  counted_us_ = now_us;
  return plan();
}

void ReplicaPlanner::choose() {
  const auto best = std::ranges::max_element(memories_, {}, &Memory::in_time);
  if (best->in_time > memories_[chosen_].in_time + kBetter * std::sqrt(seen_)) {
    chosen_ = static_cast<size_t>(best - memories_.begin());
  }
}

void ReplicaPlanner::improve(Memory& memory, int64_t now_us, uint32_t simulations) {
  const auto [arrivals, weights] = remembered(memory, now_us);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (arrivals.empty()) return;
  Outcome best = simulate(memory.plan, arrivals, weights);
  for (uint32_t i = 0; i < simulations; ++i) {
    ReplicaPlan other = memory.plan;
    if (!change(other, best.missed, total)) continue;
    Outcome outcome = simulate(other, arrivals, weights);
    if (outcome.in_time <= best.in_time + kGainMin * total) continue;
    best = std::move(outcome);
    memory.plan = std::move(other);
  }
}

std::pair<std::span<const PoolArrival>, std::vector<double>> ReplicaPlanner::remembered(
    const Memory& memory, int64_t now_us) const {
  std::span<const PoolArrival> arrivals(arrivals_);
  arrivals = arrivals.last(std::min(arrivals.size(), settings_.arrivals_max));
  if (memory.rules.half_life_us == 0) return {arrivals, std::vector<double>(arrivals.size(), 1.0)};
  const auto first = std::ranges::lower_bound(arrivals, now_us - kHalfLives * memory.rules.half_life_us, {},
                                              &PoolArrival::at_us);
  arrivals = arrivals.subspan(static_cast<size_t>(first - arrivals.begin()));
  std::vector<double> weights;
  weights.reserve(arrivals.size());
  for (const PoolArrival& arrival : arrivals) {
    weights.push_back(std::exp2(-static_cast<double>(now_us - arrival.at_us) /
                                static_cast<double>(memory.rules.half_life_us)));
  }
  return {arrivals, std::move(weights)};
}

ReplicaPlanner::Outcome ReplicaPlanner::simulate(const ReplicaPlan& plan,
                                                 std::span<const PoolArrival> arrivals,
                                                 std::span<const double> weights) const {
  DeviceQueues devices(models_, settings_.devices, settings_.order);
  devices.set_plan(plan);
  Outcome outcome{0, std::vector<double>(models_.size())};
  for (size_t i = 0; i < arrivals.size(); ++i) {
    (devices.offer(arrivals[i]) ? outcome.in_time : outcome.missed[arrivals[i].model]) += weights[i];
  }
  return outcome;
}

/// Gives a device a replica of a model that misses requests, in place of another one where there is no room.
/// \returns false: not this time
bool ReplicaPlanner::change(ReplicaPlan& plan, const std::vector<double>& missed, double total) {
  std::vector<uint32_t>& device = plan.devices[random_() % plan.devices.size()];
  const uint32_t model = draw_model(missed, total);
  if (std::ranges::binary_search(device, model) || replicas(plan, model) >= models_[model].replicas_max)
    return false;
  if (models_[model].quota > free_quota(device) && !remove_one(device, plan)) return false;
  if (models_[model].quota > free_quota(device)) return false;
  add(device, model);
  return true;
}

/// As likely as it misses requests.
uint32_t ReplicaPlanner::draw_model(const std::vector<double>& missed, double total) {
  const double each = kCuriosity * total;
  const double sum = std::accumulate(missed.begin(), missed.end(), each * static_cast<double>(missed.size()));
  double drawn = sum * static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53);
  uint32_t model = 0;
  while (model + 1 < missed.size() && (drawn -= missed[model] + each) > 0) ++model;
  return model;
}

bool ReplicaPlanner::remove_one(std::vector<uint32_t>& device, const ReplicaPlan& plan) {
  if (device.empty()) return false;
  const auto removed = device.begin() + static_cast<ptrdiff_t>(random_() % device.size());
  if (replicas(plan, *removed) <= models_[*removed].replicas_min) return false;
  device.erase(removed);
  return true;
}

uint64_t ReplicaPlanner::free_quota(const std::vector<uint32_t>& device) const {
  return settings_.capacity - used_quota(models_, device);
}

}  // namespace atl::pools
