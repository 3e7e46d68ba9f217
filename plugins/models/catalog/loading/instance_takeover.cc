#include "models/catalog/loading/instance_takeover.h"

namespace atl::models {
namespace {

/// What an instance is, whatever it is called.
bool is_alike(const InstanceSpec& a, const InstanceSpec& b) {
  return a.kind == b.kind && a.device_id == b.device_id && a.passive == b.passive &&
         a.host_policy == b.host_policy && a.cpu_cores == b.cpu_cores && a.numa_node == b.numa_node &&
         a.profiles == b.profiles && a.secondary_devices == b.secondary_devices;
}

}  // namespace

size_t take_over(const ModelParts& old, const std::vector<std::unique_ptr<InstanceSpec>>& wanted,
                 ModelParts& parts) {
  std::vector<bool> taken(old.instances.size());
  size_t count = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t k = 0; k < taken.size() && parts.instances[i] == nullptr; ++k) {
      if (taken[k] || !is_alike(*old.specs[k], *wanted[i])) continue;
      taken[k] = true;
      parts.specs[i] = old.specs[k];
      parts.instances[i] = old.instances[k];
      ++count;
    }
  }
  return count;
}

}  // namespace atl::models
