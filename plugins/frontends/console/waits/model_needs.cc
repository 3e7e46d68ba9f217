#include "frontends/console/waits/model_needs.h"

#include <model_config.pb.h>

#include <algorithm>

namespace atl::frontends::console {
namespace {

void add_resource(const inference::ModelRateLimiter::Resource& resource, std::vector<NeededResource>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const NeededResource& one) {
    return one.name == resource.name() && one.is_global == resource.global();
  });
  NeededResource& needed = found == all.end() ? all.emplace_back() : *found;
  needed.name = resource.name();
  needed.is_global = resource.global();
  needed.count = std::max(needed.count, resource.count());
}

}  // namespace

std::optional<ModelNeeds> model_needs(std::string_view config) {
  inference::ModelConfig parsed;
  if (!parsed.ParseFromArray(config.data(), static_cast<int>(config.size()))) return std::nullopt;
  ModelNeeds needs;
  needs.max_batch_size = static_cast<uint32_t>(std::max(parsed.max_batch_size(), 0));
  for (const inference::ModelInstanceGroup& group : parsed.instance_group()) {
    if (group.passive()) continue;
    needs.instances += static_cast<uint64_t>(std::max(group.count(), 0)) *
                       static_cast<uint64_t>(std::max(group.gpus_size(), 1));
    for (const auto& resource : group.rate_limiter().resources()) add_resource(resource, needs.resources);
  }
  if (parsed.has_dynamic_batching()) {
    const inference::ModelDynamicBatching& batching = parsed.dynamic_batching();
    needs.is_dynamic = true;
    needs.queue_delay_us = batching.max_queue_delay_microseconds();
    needs.queue_size = batching.default_queue_policy().max_queue_size();
  }
  return needs;
}

}  // namespace atl::frontends::console
