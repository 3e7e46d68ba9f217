#include "configs/pbtxt/checks/validate.h"

namespace atl::pbtxt {

namespace {

bool delays(const inference::ModelQueuePolicy& policy) {
  return policy.default_timeout_microseconds() != 0 &&
         policy.timeout_action() == inference::ModelQueuePolicy::DELAY;
}

}  // namespace

void validate_dynamic_batching(const inference::ModelConfig& config, Findings& findings) {
  const auto& batching = config.dynamic_batching();
  const std::string& name = config.name();
  for (int i = 0; i < batching.preferred_batch_size_size(); ++i) {
    std::string field = cat("dynamic_batching.preferred_batch_size[", i, "]");
    if (batching.preferred_batch_size(i) <= 0) {
      findings.invalid(field, "dynamic batching preferred size must be positive for ", name);
    } else if (batching.preferred_batch_size(i) > config.max_batch_size()) {
      findings.invalid(field, "dynamic batching preferred size must be <= max batch size for ", name);
    }
  }

  uint64_t levels = batching.priority_levels();
  uint64_t default_level = batching.default_priority_level();
  if (levels != 0 && (default_level == 0 || default_level > levels)) {
    findings.invalid("dynamic_batching.default_priority_level",
                     "default priority level must be in range [1, ", levels, "] for ", name);
  }
  for (const auto& [level, policy] : batching.priority_queue_policy()) {
    if (levels == 0 || (level != 0 && level <= levels)) continue;
    findings.invalid("dynamic_batching.priority_queue_policy",
                     "priority queue policy must have priority level in range [1, ", levels, "] for ", name);
  }

  if (!batching.preserve_ordering()) return;
  if (levels > 1) {
    findings.invalid("dynamic_batching.priority_levels",
                     "Only one priority level is allowed when 'preserve_ordering' is true for ", name);
  }
  bool any_delays = delays(batching.default_queue_policy());
  for (const auto& [level, policy] : batching.priority_queue_policy()) any_delays |= delays(policy);
  if (any_delays) {
    findings.invalid("dynamic_batching.preserve_ordering",
                     "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true "
                     "for ",
                     name);
  }
}

}  // namespace atl::pbtxt
