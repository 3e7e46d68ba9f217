#include <charconv>
#include <string>

#include "instance_groups.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;

/// Lowest CUDA compute capability of usable GPUs, as the reference's message prints it.
constexpr const char* kComputeCapabilityMin = "7.500000";

std::string join(const GpuSet& gpus) {
  std::string text;
  for (int32_t gpu : gpus) text += cat(text.empty() ? "" : ", ", gpu);
  return text;
}

Status check_kind(const ModelConfig& config, const ModelInstanceGroup& group, const GpuSet& usable_gpus) {
  auto fail = [&](const auto&... parts) {
    return invalid_argument("instance group ", group.name(), " of model ", config.name(), parts...);
  };
  switch (group.kind()) {
    case ModelInstanceGroup::KIND_MODEL:
      if (!group.gpus().empty()) return fail(" has kind KIND_MODEL but specifies one or more GPUs");
      return {};
    case ModelInstanceGroup::KIND_CPU:
      if (!group.gpus().empty()) return fail(" has kind KIND_CPU but specifies one or more GPUs");
      return {};
    case ModelInstanceGroup::KIND_GPU:
      break;
    default:
      return internal_error("instance group ", group.name(), " of model ", config.name(),
                            " has unexpected kind KIND_AUTO");
  }
  if (group.gpus().empty()) {
    if (usable_gpus.empty()) return fail(" has kind KIND_GPU but no GPUs are available");
    return fail(" has kind KIND_GPU but specifies no GPUs");
  }
  for (int32_t gpu : group.gpus()) {
    if (usable_gpus.contains(gpu)) continue;
    return fail(" specifies invalid or unsupported gpu id ", gpu,
                ". GPUs with at least the minimum required CUDA compute compatibility of ",
                kComputeCapabilityMin, " are: ", join(usable_gpus));
  }
  return {};
}

Status check_profiles(const ModelConfig& config, const ModelInstanceGroup& group) {
  for (const std::string& profile : group.profile()) {
    if (config.platform() != "tensorrt_plan") {
      return invalid_argument("instance group ", group.name(), " of model ", config.name(), " and platform ",
                              config.platform(),
                              "specifies profile field which is only supported for TensorRT models");
    }
    if (profile.empty()) return invalid_argument("profile name must not be empty");
    int number = 0;
    auto [end, error] = std::from_chars(profile.data(), profile.data() + profile.size(), number);
    if (error != std::errc() || end != profile.data() + profile.size()) {
      return invalid_argument("unable to parse '", profile, "': stoi");
    }
    if (number < 0) {
      return invalid_argument("instance group ", group.name(), " of model ", config.name(), " and platform ",
                              config.platform(), " specifies invalid profile ", profile,
                              ". The field should contain the string representation of a non-negative "
                              "integer.");
    }
  }
  return {};
}

bool needs_gpu_memory(const ModelConfig& config, std::string* state_name) {
  for (const auto& state : config.sequence_batching().state()) {
    *state_name = state.input_name();
    if (state.use_growable_memory()) return true;
  }
  return false;
}

}  // namespace

Status validate_instance_counts(const ModelConfig& config, uint32_t instances_max, const SourceMap& source) {
  for (int i = 0; i < config.instance_group_size(); ++i) {
    const auto& group = config.instance_group(i);
    if (group.count() >= 0 && static_cast<uint32_t>(group.count()) <= instances_max) continue;
    return source.invalid(cat("instance_group[", i, "].count"), "'instance_group[", i, "].count' of model '",
                          config.name(), "' is ", group.count(), ", expected 1 to ", instances_max,
                          " or 0 for the default");
  }
  return {};
}

Status validate_instance_groups(const ModelConfig& config, const GpuSet& usable_gpus,
                                uint32_t instances_max) {
  if (config.instance_group().empty()) {
    return invalid_argument("must specify one or more 'instance group's for ", config.name());
  }
  std::string growable;
  bool needs_gpu = needs_gpu_memory(config, &growable);
  uint64_t instances = 0;
  for (const ModelInstanceGroup& group : config.instance_group()) {
    ATOLL_RETURN_IF_ERROR(check_kind(config, group, usable_gpus));
    ATOLL_RETURN_IF_ERROR(check_profiles(config, group));
    if (needs_gpu && group.kind() != ModelInstanceGroup::KIND_GPU) {
      return invalid_argument(
          "'use_growable_memory' can only work with KIND_GPU model instances right now. Please either change "
          "the instance type to KIND_GPU or set 'use_growable_memory' to false for state input '",
          growable, "'.");
    }
    uint64_t devices = group.gpus().empty() ? 1 : static_cast<uint64_t>(group.gpus_size());
    instances += devices * static_cast<uint64_t>(group.count());
  }
  if (instances > instances_max) {
    return invalid_argument("model '", config.name(), "' would have ", instances,
                            " instances, expected at most ", instances_max,
                            "; the option 'instances_max' sets the limit");
  }
  return {};
}

}  // namespace atl::pbtxt
