#include "models/catalog/loading/usable_gpus.h"

#include <algorithm>

#include "atoll/memory/memory.h"

namespace atl::models {

std::vector<int32_t> usable_gpus(Registry& registry) noexcept {
  auto memory = memory_of(registry, MemoryKind::kGpu, Memory::kDevicesMinor);
  return memory.ok() ? (*memory)->devices() : std::vector<int32_t>();
}

Status check_for_lost_gpus(Registry& registry, const inference::ModelConfig& config) noexcept {
  auto memory = memory_of(registry, MemoryKind::kGpu, Memory::kUsageMinor);
  if (!memory.ok()) return {};
  const std::vector<int32_t> usable = (*memory)->devices();
  for (const auto& group : config.instance_group()) {
    std::vector<int32_t> wanted(group.gpus().begin(), group.gpus().end());
    const bool wants_all = group.kind() == inference::ModelInstanceGroup::KIND_GPU && wanted.empty();
    if (wants_all && usable.empty()) wanted.push_back(0);
    for (const int32_t gpu : wanted) {
      if (std::find(usable.begin(), usable.end(), gpu) != usable.end()) continue;
      auto usage = (*memory)->device_usage(gpu);
      if (usage.ok() || usage.status().code() != Code::kUnavailable) continue;
      return unavailable("an instance group of model '", config.name(), "' wants GPU ", gpu, ": ",
                         usage.status().message());
    }
  }
  return {};
}

}  // namespace atl::models
