#include "configs/pbtxt/instance_groups.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;

ModelInstanceGroup::Kind to_kind(InstanceKind kind) {
  switch (kind) {
    case InstanceKind::kCpu:
      return ModelInstanceGroup::KIND_CPU;
    case InstanceKind::kGpu:
      return ModelInstanceGroup::KIND_GPU;
    case InstanceKind::kModel:
      return ModelInstanceGroup::KIND_MODEL;
    case InstanceKind::kAuto:
      break;
  }
  return ModelInstanceGroup::KIND_AUTO;
}

void set_count(ModelInstanceGroup* group, uint32_t count) {
  constexpr uint32_t kMax = std::numeric_limits<int32_t>::max();
  group->set_count(static_cast<int32_t>(std::min(count, kMax)));
}

std::vector<int32_t> usable(const std::vector<int32_t>& gpus, const GpuSet& usable_gpus) {
  std::vector<int32_t> out;
  std::copy_if(gpus.begin(), gpus.end(), std::back_inserter(out),
               [&](int32_t gpu) { return usable_gpus.contains(gpu); });
  return out;
}

void add_default_group(const BackendTraits& traits, const GpuSet& usable_gpus, ModelConfig* config) {
  ModelInstanceGroup* group = config->add_instance_group();
  group->set_name(config->name());
  for (const PreferredGroup& preferred : traits.preferred_groups) {
    if (preferred.kind == InstanceKind::kGpu && usable_gpus.empty()) continue;
    group->set_kind(to_kind(preferred.kind));
    set_count(group, preferred.count);
    if (preferred.kind == InstanceKind::kGpu) {
      for (int32_t gpu : usable(preferred.gpus, usable_gpus)) group->add_gpus(gpu);
    } else if (preferred.kind == InstanceKind::kAuto) {
      for (int32_t gpu : preferred.gpus) group->add_gpus(gpu);
    }
    return;
  }
}

bool runs_on_gpus(const BackendTraits& traits) {
  return std::any_of(traits.preferred_groups.begin(), traits.preferred_groups.end(),
                     [](const auto& preferred) {
                       return preferred.kind == InstanceKind::kGpu || preferred.kind == InstanceKind::kAuto;
                     });
}

void resolve_auto(const BackendTraits& traits, const GpuSet& usable_gpus, ModelInstanceGroup* group) {
  if (group->kind() != ModelInstanceGroup::KIND_AUTO) return;
  bool on_gpu = runs_on_gpus(traits) && !usable_gpus.empty() &&
                std::all_of(group->gpus().begin(), group->gpus().end(),
                            [&](int32_t gpu) { return usable_gpus.contains(gpu); });
  group->set_kind(on_gpu ? ModelInstanceGroup::KIND_GPU : ModelInstanceGroup::KIND_CPU);
}

void apply_preferences(const BackendTraits& traits, const GpuSet& usable_gpus, ModelInstanceGroup* group) {
  for (const PreferredGroup& preferred : traits.preferred_groups) {
    if (to_kind(preferred.kind) != group->kind()) continue;
    bool takes_gpus = group->kind() == ModelInstanceGroup::KIND_GPU && group->gpus().empty();
    if (takes_gpus && !preferred.gpus.empty()) {
      auto gpus = usable(preferred.gpus, usable_gpus);
      if (gpus.empty()) continue;
      for (int32_t gpu : gpus) group->add_gpus(gpu);
    }
    if (group->count() < 1 && preferred.count > 0) set_count(group, preferred.count);
  }
}

/// These two frameworks overlap two instances on a CPU better than they use one.
bool wants_two_on_cpu(const std::string& backend) {
  return backend == "tensorflow" || backend == "onnxruntime";
}

}  // namespace

void normalise_instance_groups(const BackendTraits& traits, const GpuSet& usable_gpus, ModelConfig* config) {
  if (config->instance_group().empty()) add_default_group(traits, usable_gpus, config);
  for (int i = 0; i < config->instance_group_size(); ++i) {
    ModelInstanceGroup* group = config->mutable_instance_group(i);
    if (group->name().empty()) group->set_name(cat(config->name(), "_", i));
    resolve_auto(traits, usable_gpus, group);
    apply_preferences(traits, usable_gpus, group);
    if (group->count() < 1) {
      bool two = group->kind() == ModelInstanceGroup::KIND_CPU && wants_two_on_cpu(config->backend());
      group->set_count(two ? 2 : 1);
    }
    if (group->kind() == ModelInstanceGroup::KIND_GPU && group->gpus().empty()) {
      for (int32_t gpu : usable_gpus) group->add_gpus(gpu);
    }
  }
}

}  // namespace atl::pbtxt
