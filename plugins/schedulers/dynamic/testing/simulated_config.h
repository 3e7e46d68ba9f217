/// A model and its clients, drawn from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/request/request.h"
#include "atoll/testing/random.h"
#include "model_config.pb.h"
#include "schedulers/dynamic/testing/arrivals.h"

namespace atl::schedulers {

struct SimulatedScenario {
  explicit SimulatedScenario(test::Random& random)
      : arrivals(static_cast<double>(random.between(20, 1000) * kNsPerUs), kVariations[random.below(3)]) {
    auto max_batch_size = static_cast<int32_t>(random.between(0, 16));
    config.set_max_batch_size(max_batch_size);
    auto* input = config.add_input();
    input->set_name("INPUT0");
    input->add_dims(-1);
    ragged = random.chance(50);
    input->set_allow_ragged_batch(ragged);
    auto* batching = config.mutable_dynamic_batching();
    for (int32_t size = 1; size <= max_batch_size; ++size) {
      if (random.chance(25)) batching->add_preferred_batch_size(size);
    }
    if (random.chance(50)) {
      batching->set_max_queue_delay_microseconds(static_cast<uint64_t>(random.between(1, 5000)));
    }
    if (random.chance(40)) queue_size_max = random.below(50);
    set_policy(batching->mutable_default_queue_policy(), random);
    if (random.chance(50)) {
      auto levels = static_cast<uint64_t>(random.between(1, 4));
      batching->set_priority_levels(levels);
      batching->set_default_priority_level(1 + random.below(levels));
      set_policy(&(*batching->mutable_priority_queue_policy())[1 + random.below(levels)], random);
    }
    const auto& policy = batching->default_queue_policy();
    bool delays = policy.timeout_action() == inference::ModelQueuePolicy::DELAY;
    first_come_first_served = batching->priority_levels() == 0 && !delays;
    batching->set_preserve_ordering(first_come_first_served && random.chance(50));
    tuned = random.chance(15);
    if (tuned) {
      (*config.mutable_parameters())["latency_target_microseconds"].set_string_value(
          cat(random.between(100, 20'000)));
    }
    execution_max_ns = random.chance(50) ? 60 * kNsPerUs : random.between(1, 5) * kNsPerMs;
  }

  int64_t delay_ns() const {
    return static_cast<int64_t>(config.dynamic_batching().max_queue_delay_microseconds()) * kNsPerUs;
  }

  /// What one client asks for.
  void fill(Request& request, test::Random& random) const {
    int32_t size_max = std::min(config.max_batch_size(), 4);
    request.batch_size = size_max == 0 ? 0 : static_cast<uint32_t>(random.between(1, size_max));
    request.priority = random.below(6);
    if (random.chance(30)) request.timeout_us = static_cast<uint64_t>(random.between(1, 5000));
    InputTensor& input = request.add_input();
    input.name = "INPUT0";
    int64_t shape[] = {size_max == 0 ? 1 : request.batch_size, random.chance(80) ? 1 : 2};
    input.shape = request.arena().copy(std::span<const int64_t>(shape));
  }

  inference::ModelConfig config;
  Arrivals arrivals;
  bool ragged = false, tuned = false, first_come_first_served = false;
  uint64_t queue_size_max = 0;
  int64_t execution_max_ns = 0;

 private:
  static constexpr double kVariations[] = {1, 4, 8};

  static void set_policy(inference::ModelQueuePolicy* policy, test::Random& random) {
    if (random.chance(50)) return;
    policy->set_timeout_action(random.chance(50) ? inference::ModelQueuePolicy::REJECT
                                                 : inference::ModelQueuePolicy::DELAY);
    policy->set_default_timeout_microseconds(static_cast<uint64_t>(random.between(1, 20'000)));
    policy->set_allow_timeout_override(random.chance(50));
    if (random.chance(30)) policy->set_max_queue_size(static_cast<uint32_t>(random.between(1, 30)));
  }
};

}  // namespace atl::schedulers
