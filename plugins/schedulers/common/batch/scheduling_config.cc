#include "schedulers/common/batch/scheduling_config.h"

#include <algorithm>

#include "atoll/core/clock.h"
#include "model_config.pb.h"
#include "schedulers/common/batch/deadline_heap.h"

namespace atl::schedulers {
namespace {

QueuePolicy queue_policy_from(const inference::ModelQueuePolicy& config) {
  QueuePolicy policy;
  if (config.timeout_action() == inference::ModelQueuePolicy::DELAY) {
    policy.timeout_action = TimeoutAction::kDelay;
  }
  policy.allow_timeout_override = config.allow_timeout_override();
  policy.default_timeout_us = config.default_timeout_microseconds();
  policy.max_queue_size = config.max_queue_size();
  return policy;
}

}  // namespace

int64_t duration_ns_from(uint64_t microseconds) noexcept {
  const uint64_t most_us = DeadlineHeap::kNever / kNsPerUs;
  return static_cast<int64_t>(std::min(microseconds, most_us)) * kNsPerUs;
}

std::vector<uint32_t> preferred_sizes_from(const google::protobuf::RepeatedField<int32_t>& sizes,
                                           uint32_t size_max) {
  std::vector<uint32_t> preferred;
  for (int32_t size : sizes) {
    if (size > 0) preferred.push_back(static_cast<uint32_t>(size));
  }
  if (preferred.empty()) preferred.push_back(size_max);
  std::sort(preferred.begin(), preferred.end());
  return preferred;
}

QueuePolicies queue_policies_from(const inference::ModelDynamicBatching& config) {
  QueuePolicies policies;
  policies.priority_levels = config.priority_levels();
  policies.default_priority_level = config.default_priority_level();
  policies.default_policy = queue_policy_from(config.default_queue_policy());
  // Without levels there is one queue, which follows the default policy.
  if (config.priority_levels() == 0) return policies;
  for (const auto& [level, policy] : config.priority_queue_policy()) {
    policies.by_level.emplace(level, queue_policy_from(policy));
  }
  return policies;
}

BatchCompatibility batch_compatibility_from(const inference::ModelConfig& config) {
  BatchCompatibility compatibility;
  compatibility.has_batch_dimension = config.max_batch_size() > 0;
  for (const auto& input : config.input()) {
    compatibility.has_optional_inputs |= input.optional();
    bool variable = std::find(input.dims().begin(), input.dims().end(), -1) != input.dims().end();
    if (input.is_shape_tensor() || (variable && !input.allow_ragged_batch())) {
      int64_t first_dim = input.dims().empty() ? -1 : input.dims(0);
      compatibility.compared.push_back({input.name(), input.is_shape_tensor(), first_dim});
    }
  }
  return compatibility;
}

}  // namespace atl::schedulers
