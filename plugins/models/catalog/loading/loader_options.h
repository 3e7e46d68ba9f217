/// What the catalog's options say about loading.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/catalog/loading/gpu_load_limits.h"
#include "models/catalog/serving/host_policies.h"

namespace atl::models {

struct LoaderOptions {
  bool auto_complete = true;  ///< configurations may be missing or incomplete
  bool namespacing = false;   ///< models are known by identifiers
  HostPolicies host_policies;
  GpuLoadLimits gpu_load_limits;
  uint32_t retries = 0;                         ///< further attempts at a version that failed to load
  int64_t warmup_timeout_ns = 0;                ///< of one execution of a warm-up sample; 0: none
  std::map<std::string, std::string> settings;  ///< "<backend>.<setting>"; without a dot: of all backends
  int64_t default_max_batch_size = 4;
};

}  // namespace atl::models
