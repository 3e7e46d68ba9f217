#include "models/catalog/serving/instance_specs.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "atoll/core/clock.h"
#include "model_config.pb.h"

namespace atl::models {
namespace {

using Group = inference::ModelInstanceGroup;

InstanceKind kind_of(const Group& group) {
  switch (group.kind()) {
    case Group::KIND_CPU:
      return InstanceKind::kCpu;
    case Group::KIND_GPU:
      return InstanceKind::kGpu;
    case Group::KIND_MODEL:
      return InstanceKind::kModel;
    default:
      return InstanceKind::kAuto;
  }
}

std::string host_policy_of(const Group& group, InstanceKind kind, int32_t device_id) {
  if (!group.host_policy().empty()) return group.host_policy();
  if (kind == InstanceKind::kGpu) return cat("gpu_", device_id);
  return kind == InstanceKind::kModel ? "model" : "cpu";
}

std::unique_ptr<InstanceSpec> make_spec(const Group& group, const HostPolicies& policies, size_t number,
                                        int32_t device_id, InferenceReporter* reporter) {
  auto spec = std::make_unique<InstanceSpec>();
  spec->name = cat(group.name(), "_", number);
  spec->kind = kind_of(group);
  spec->device_id = device_id;
  spec->passive = group.passive();
  spec->host_policy = host_policy_of(group, spec->kind, device_id);
  if (auto policy = policies.find(spec->host_policy); policy != policies.end()) {
    spec->cpu_cores = policy->second.cpu_cores;
    spec->numa_node = policy->second.numa_node;
  }
  spec->profiles.assign(group.profile().begin(), group.profile().end());
  for (const auto& device : group.secondary_devices()) {
    spec->secondary_devices.emplace_back(Group::SecondaryDevice::SecondaryDeviceKind_Name(device.kind()),
                                         device.device_id());
  }
  spec->reporter = reporter;
  return spec;
}

/// One entry a device that the group has instances on.
std::vector<int32_t> devices_of(const Group& group) {
  std::vector<int32_t> devices(group.gpus().begin(), group.gpus().end());
  if (group.kind() != Group::KIND_GPU || devices.empty()) devices.assign(1, 0);
  return devices;
}

/// 0: none. One that cannot be read is for the scheduler to refuse.
int64_t latency_target_of(const inference::ModelConfig& config) {
  const auto parameter = config.parameters().find("latency_target_microseconds");
  if (!config.has_dynamic_batching() || parameter == config.parameters().end()) return 0;
  const std::string& text = parameter->second.string_value();
  int64_t target_us = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target_us);
  const bool is_read = error == std::errc() && end == text.data() + text.size();
  constexpr int64_t kMostUs = INT64_MAX / kNsPerUs;
  return is_read && target_us > 0 && target_us <= kMostUs ? target_us * kNsPerUs : 0;
}

size_t count_of(const Group& group) { return static_cast<size_t>(group.count() > 0 ? group.count() : 0); }

}  // namespace

Result<std::vector<std::unique_ptr<InstanceSpec>>> make_instance_specs(const inference::ModelConfig& config,
                                                                       const HostPolicies& policies,
                                                                       InferenceReporter* reporter) {
  std::vector<std::unique_ptr<InstanceSpec>> specs;
  bool executed = false;
  for (const Group& group : config.instance_group()) {
    std::vector<int32_t> devices = devices_of(group);
    size_t count = count_of(group);
    if (count > kInstancesMax || specs.size() + count * devices.size() > kInstancesMax) {
      return invalid_argument("instance group '", group.name(), "' of model '", config.name(), "' asks for ",
                              count, " instances on each of ", devices.size(), " devices, at most ",
                              kInstancesMax, " instances of a model are supported");
    }
    executed |= !group.passive() && count != 0;
    size_t number = 0;
    for (int32_t device_id : devices) {
      for (size_t i = 0; i < count; ++i) {
        specs.push_back(make_spec(group, policies, number++, device_id, reporter));
      }
    }
  }
  if (!executed) {
    return invalid_argument(
        "model '", config.name(),
        "' has no instance to execute on, expected an instance group with count >= 1 that "
        "is not passive");
  }
  return specs;
}

std::vector<ExecutionDemand> make_execution_demands(const inference::ModelConfig& config) {
  std::vector<ExecutionDemand> demands;
  for (const Group& group : config.instance_group()) {
    if (group.passive()) continue;
    ExecutionDemand demand;
    demand.model = config.name();
    demand.on_gpu = group.kind() == Group::KIND_GPU;
    demand.max_batch_size = static_cast<uint32_t>(std::max(config.max_batch_size(), 0));
    demand.latency_target_ns = latency_target_of(config);
    demand.priority = group.rate_limiter().priority();
    for (const auto& resource : group.rate_limiter().resources()) {
      demand.resources.push_back({resource.name(), resource.count(), resource.global()});
    }
    size_t number = 0;
    for (int32_t device_id : devices_of(group)) {
      demand.device_id = device_id;
      for (size_t i = 0; i < count_of(group); ++i) {
        demand.instance = cat(group.name(), "_", number++);
        demands.push_back(demand);
      }
    }
  }
  return demands;
}

}  // namespace atl::models
