#include <algorithm>
#include <charconv>
#include <string>

#include "configs/pbtxt/instance_groups.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;

std::string join(const GpuSet& gpus) {
  std::string text;
  for (int32_t gpu : gpus) text += cat(text.empty() ? "" : ", ", gpu);
  return text;
}

/// The rules for one group.
class GroupRules {
 public:
  GroupRules(const ModelConfig& config, const GpuSet& usable_gpus, const GroupLimits& limits,
             Findings& findings)
      : config_(config), usable_gpus_(usable_gpus), limits_(limits), findings_(findings) {}

  void check(const ModelInstanceGroup& group, const std::string& field) {
    group_ = &group;
    field_ = field;
    check_kind();
    for (const std::string& profile : group.profile()) check_profile(profile);
  }

 private:
  template <class... Parts>
  void fail(const Parts&... parts) const {
    findings_.invalid(field_, "instance group ", group_->name(), " of model ", config_.name(), parts...);
  }

  void check_kind() const {
    switch (group_->kind()) {
      case ModelInstanceGroup::KIND_MODEL:
        if (!group_->gpus().empty()) fail(" has kind KIND_MODEL but specifies one or more GPUs");
        return;
      case ModelInstanceGroup::KIND_CPU:
        if (!group_->gpus().empty()) fail(" has kind KIND_CPU but specifies one or more GPUs");
        return;
      case ModelInstanceGroup::KIND_GPU:
        return check_gpus();
      default:
        findings_.add(field_, internal_error("instance group ", group_->name(), " of model ", config_.name(),
                                             " has unexpected kind KIND_AUTO"));
    }
  }

  void check_gpus() const {
    if (group_->gpus().empty()) {
      return usable_gpus_.empty() ? fail(" has kind KIND_GPU but no GPUs are available")
                                  : fail(" has kind KIND_GPU but specifies no GPUs");
    }
    for (int32_t gpu : group_->gpus()) {
      if (usable_gpus_.contains(gpu)) continue;
      fail(" specifies invalid or unsupported gpu id ", gpu,
           ". GPUs with at least the minimum required CUDA compute compatibility of ",
           std::to_string(limits_.min_compute_capability), " are: ", join(usable_gpus_));
    }
  }

  void check_profile(const std::string& profile) const {
    if (config_.platform() != "tensorrt_plan") {
      return fail(" and platform ", config_.platform(),
                  "specifies profile field which is only supported for TensorRT models");
    }
    if (profile.empty()) return findings_.invalid(field_, "profile name must not be empty");
    int number = 0;
    auto [end, error] = std::from_chars(profile.data(), profile.data() + profile.size(), number);
    if (error != std::errc() || end != profile.data() + profile.size()) {
      findings_.invalid(field_, "unable to parse '", profile, "': stoi");
    } else if (number < 0) {
      fail(" and platform ", config_.platform(), " specifies invalid profile ", profile,
           ". The field should contain the string representation of a non-negative integer.");
    }
  }

  const ModelConfig& config_;
  const GpuSet& usable_gpus_;
  const GroupLimits& limits_;
  Findings& findings_;
  const ModelInstanceGroup* group_ = nullptr;
  std::string field_;
};

}  // namespace

void validate_instance_counts(const ModelConfig& config, uint32_t instances_max, Findings& findings) {
  for (int i = 0; i < config.instance_group_size(); ++i) {
    const auto& group = config.instance_group(i);
    if (group.count() >= 0 && static_cast<uint32_t>(group.count()) <= instances_max) continue;
    findings.invalid(cat("instance_group[", i, "].count"), "'instance_group[", i, "].count' of model '",
                     config.name(), "' is ", group.count(), ", expected 1 to ", instances_max,
                     " or 0 for the default");
  }
}

Status validate_instance_counts(const ModelConfig& config, uint32_t instances_max, const SourceMap& source) {
  Findings findings(source);
  validate_instance_counts(config, instances_max, findings);
  return findings.first();
}

void validate_instance_groups(const ModelConfig& config, const GpuSet& usable_gpus, const GroupLimits& limits,
                              Findings& findings) {
  if (config.instance_group().empty()) {
    findings.invalid("instance_group", "must specify one or more 'instance group's for ", config.name());
  }
  uint64_t instances = 0;
  GroupRules rules(config, usable_gpus, limits, findings);
  for (int i = 0; i < config.instance_group_size(); ++i) {
    const ModelInstanceGroup& group = config.instance_group(i);
    std::string field = cat("instance_group[", i, "]");
    rules.check(group, field);
    uint64_t devices = group.gpus().empty() ? 1 : static_cast<uint64_t>(group.gpus_size());
    instances += devices * static_cast<uint64_t>(std::max(group.count(), 0));
  }
  if (instances > limits.instances_max) {
    findings.invalid("instance_group", "model '", config.name(), "' would have ", instances,
                     " instances, expected at most ", limits.instances_max,
                     "; the option 'instances_max' sets the limit");
  }
}

void validate_unsettled_groups(ModelConfig config, const GroupLimits& limits, Findings& findings) {
  GpuSet gpus = {0};
  for (auto& group : *config.mutable_instance_group()) {
    // Counts out of range are told by validate_instance_counts().
    group.set_count(std::clamp(group.count(), 0, static_cast<int32_t>(limits.instances_max)));
    for (int32_t gpu : group.gpus()) {
      if (gpu >= 0) gpus.insert(gpu);
    }
  }
  const BackendTraits anywhere{.preferred_groups = {{InstanceKind::kAuto, 0, {}}}};
  normalise_instance_groups(anywhere, gpus, &config);
  validate_instance_groups(config, gpus, limits, findings);
}

Status validate_instance_groups(const ModelConfig& config, const GpuSet& usable_gpus,
                                const GroupLimits& limits) {
  const SourceMap nowhere;
  Findings findings(nowhere);
  validate_instance_groups(config, usable_gpus, limits, findings);
  return findings.first();
}

}  // namespace atl::pbtxt
