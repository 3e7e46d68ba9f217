/// Which instances a model gets.
#pragma once

#include <cstdint>
#include <set>

#include "atoll/backend/backend.h"
#include "atoll/core/status.h"
#include "configs/pbtxt/checks/findings.h"
#include "configs/pbtxt/source_map.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// Ordinals of the GPUs that may be used.
using GpuSet = std::set<int32_t>;

/// Settles the groups: one if there is none, names, kinds, counts, GPUs. Not for ensembles.
/// Source: model configuration, "Normalisation", second table; but KIND_AUTO means the CPU for a backend whose
/// traits name no GPUs.
void normalise_instance_groups(const BackendTraits& traits, const GpuSet& usable_gpus,
                               inference::ModelConfig* config);

/// What can be said of the groups before the backend is known: no count below 0 or above instances_max.
void validate_instance_counts(const inference::ModelConfig& config, uint32_t instances_max,
                              Findings& findings);
Status validate_instance_counts(const inference::ModelConfig& config, uint32_t instances_max,
                                const SourceMap& source);

/// What settled groups may have.
struct GroupLimits {
  uint32_t instances_max = 1024;        ///< over all groups and GPUs
  double min_compute_capability = 6.0;  ///< of usable GPUs, for the message
};

/// The rules for settled groups. Finds INVALID_ARGUMENT; INTERNAL a group of KIND_AUTO is left.
void validate_instance_groups(const inference::ModelConfig& config, const GpuSet& usable_gpus,
                              const GroupLimits& limits, Findings& findings);
/// Finds the rules that groups break whatever the backend is, before defaults are filled in. Every GPU that a group names is taken
/// to be there.
void validate_unsettled_groups(inference::ModelConfig config, const GroupLimits& limits, Findings& findings);
Status validate_instance_groups(const inference::ModelConfig& config, const GpuSet& usable_gpus,
                                const GroupLimits& limits);

}  // namespace atl::pbtxt
